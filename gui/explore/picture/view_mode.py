"""The ways in which original and result share the pane."""

from enum import StrEnum


class ViewMode(StrEnum):
    """Original and result: parted by a handle, beside each other, or one alone."""

    SPLIT = "split"
    SIDE_BY_SIDE = "side by side"
    ORIGINAL = "original"
    RESULT = "result"

    @property
    def label(self) -> str:
        """The name in lists and on buttons."""
        return self.value.capitalize()

    @property
    def sentence(self) -> str:
        """What the mode shows, for its tooltip."""
        return _SENTENCES[self]

    @property
    def icon_name(self) -> str:
        return _ICONS[self]


_SENTENCES = {
    ViewMode.SPLIT: "One picture: the original left of the handle, the result right of it. Drag the handle.",
    ViewMode.SIDE_BY_SIDE: "Original and result beside each other, at the same place and zoom.",
    ViewMode.ORIGINAL: "The original alone.",
    ViewMode.RESULT: "The result alone.",
}
_ICONS = {
    ViewMode.SPLIT: "compare",
    ViewMode.SIDE_BY_SIDE: "view-split-vertical",
    ViewMode.ORIGINAL: "original",
    ViewMode.RESULT: "result",
}
