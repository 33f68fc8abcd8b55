"""The whole window, with what its pages bring at hand under short names."""

from gui.shell.app import Haloscope

_PARTS = {
    "explore": "workspace results display pictures previews runs commands",
    "matrices": "matmul products",
    "course": "course courses",
}
_PAGE_OF = {name: key for key, names in _PARTS.items() for name in names.split()}


class OpenedWindow(Haloscope):
    """`haloscope.workspace` is that of the page Explore, and so on; pages are built when first asked for."""

    def __getattr__(self, name):
        if name not in _PAGE_OF:
            raise AttributeError(name)
        return getattr(self.window.page_of(_PAGE_OF[name]), name)
