"""The ways in which original and result share the pane."""

from enum import StrEnum


class ViewMode(StrEnum):
    """Each with its icon, and a sentence on what it shows."""

    icon_name: str
    sentence: str

    SPLIT = (
        "split", "compare",
        "One picture: the original left of the handle, the result right of it. Drag the handle.",
    )  # fmt: skip
    SIDE_BY_SIDE = (
        "side by side", "view-split-vertical",
        "Original and result beside each other, at the same place and zoom.",
    )  # fmt: skip
    ORIGINAL = "original", "original", "The original alone."
    RESULT = "result", "result", "The result alone."

    def __new__(cls, value: str, icon_name: str, sentence: str) -> "ViewMode":
        mode = str.__new__(cls, value)
        mode._value_, mode.icon_name, mode.sentence = value, icon_name, sentence
        return mode
