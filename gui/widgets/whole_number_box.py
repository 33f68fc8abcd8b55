"""A spin box in which anything can be typed; what is not a whole number in range is refused when entered."""

import re

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QValidator
from PySide6.QtWidgets import QSpinBox, QWidget

from engine.mask.text_cells import quoted
from gui.style.metrics import number_font


class WholeNumberBox(QSpinBox):
    """Takes a number when Enter is pressed or the box is left; otherwise the one before returns.

    Qt's own box swallows the keys that it does not like: who types 1,5 into it gets 15, and 12000 becomes
    1200 where four digits are the most. `name` is for screen readers and refusals ("Rows of the mask"),
    `wanted` says what is to be typed: "a whole number from 1 to 127".
    """

    refused = Signal(str)  # why the text was not taken
    typing = Signal()  # the person types: a refusal of the text before no longer holds

    def __init__(self, name: str, least: int, most: int, wanted: str) -> None:
        super().__init__()
        self._name, self._wanted = name, wanted
        self.setRange(least, most)
        # A 1 on the way to 16 is not meant.
        self.setKeyboardTracking(False)
        self.setGroupSeparatorShown(False)
        self.setFont(number_font())
        self.setAccessibleName(name)
        self.lineEdit().textEdited.connect(self.typing)

    def event(self, event: QEvent) -> bool:
        is_typing = self.text() not in (str(self.value()), self.specialValueText())
        if belongs_to_window(self, event, is_typing=is_typing):
            event.ignore()
            return False
        return super().event(event)

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        is_number = re.fullmatch(r"[+-]?[0-9]{1,9}", text.strip()) is not None
        is_special = bool(text) and text == self.specialValueText()
        is_taken = is_special or (is_number and self.minimum() <= int(text) <= self.maximum())
        state = QValidator.State.Acceptable if is_taken else QValidator.State.Intermediate
        return state, text, position

    def valueFromText(self, text: str) -> int:
        return self.minimum() if text == self.specialValueText() else int(text)

    def fixup(self, text: str) -> str:
        # Qt calls this where an illegal text is entered, and then shows the number before.
        why = f"{quoted(text.strip())} is not {self._wanted}" if text.strip() else "nothing was typed"
        self.refused.emit(f"{self._name} did not change: {why}.")
        return text


def belongs_to_window(field: QWidget, event: QEvent, *, is_typing: bool) -> bool:
    """Return whether a key in a field is left to the window, as one of its actions has it.

    Undo and redo are the field's own while a text is typed. Qt offers every key to the field first
    (ShortcutOverride), which takes them even with nothing to undo, and on Linux Ctrl+E for End, too.
    """
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    if event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo):
        return not is_typing
    keys = QKeySequence(event.keyCombination())
    return any(keys in action.shortcuts() for action in field.window().actions())
