"""The menu Edit: undo, redo, copy and clear, each of the page that is shown."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QUndoGroup, QUndoStack

from gui.page.actions import Actions, Entry
from gui.page.contract import Page, PageStatus

_EDIT = "&Edit"
_UNDO = Entry("undo", "&Undo", "Undo the last edit on this page.", "Ctrl+Z", "undo", _EDIT, 10)
_REDO = Entry("redo", "&Redo", "Redo the last undone edit.", "Ctrl+Shift+Z Ctrl+Y", "redo", _EDIT, 10)
_TABLE = (
    Entry("copy_results", "&Copy results", "Copy the table of this page, to paste it into a spreadsheet.",
          "Ctrl+Shift+C", "copy", _EDIT, 20),
    Entry("clear_results", "C&lear results", "Forget the runs of this page: its table and plots.",
          "Ctrl+Shift+Del", "clear", _EDIT, 20),
)  # fmt: skip
_NOTHING_TO = {
    "copy_results": "There is nothing to copy on this page.",
    "clear_results": "There are no runs to clear on this page.",
}


class EditActions(QObject):
    """Directs them to the page that is shown, and enables them as it says."""

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions)
        self._actions = actions
        self._stacks = QUndoGroup(self)
        # The stack of pages that have no edits.
        self._no_edits = QUndoStack(self)
        actions.add_history(self._stacks, _UNDO, _REDO)
        actions.add(_TABLE)
        self._page: Page | None = None
        actions["copy_results"].triggered.connect(self._copy)
        actions["clear_results"].triggered.connect(self._clear)

    def show_page(self, page: Page) -> None:
        """Act on another page from now on."""
        self._page = page
        stack = page.undo_stack if page.undo_stack is not None else self._no_edits
        self._stacks.addStack(stack)
        self._stacks.setActiveStack(stack)

    def show_status(self, status: PageStatus) -> None:
        """Follow the status of the page that is shown."""
        for name, can in (("copy_results", status.can_copy), ("clear_results", status.can_clear)):
            self._actions[name].setEnabled(can)
            self._actions.explain(name, "" if can else _NOTHING_TO[name])

    def _copy(self) -> None:
        if self._page is not None:
            self._page.copy_results()

    def _clear(self) -> None:
        if self._page is not None:
            self._page.clear_results()
