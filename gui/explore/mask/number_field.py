"""A field for one number, as cells take it: 2, -0.5, 1e-3 or 1/9."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit

from engine.errors import MaskError
from engine.mask.generator_table import number_text
from gui.explore.mask.weight_text import read_number, read_typed
from gui.style.metrics import GRID, number_font
from gui.widgets.number_box import belongs_to_window


class NumberField(QLineEdit):
    """Takes a number when Enter is pressed or the field is left; other text is refused and undone.

    `name` is for screen readers; `what` begins a refusal. Where the field may be empty, that is said by the
    signal `entered_text` alone. `sign` may stand before the number, as people write it elsewhere.
    """

    # Another number than the one shown before, and as typed; why a text was not taken, empty while another
    # one is typed.
    entered = Signal(float)
    entered_text = Signal(str)
    refused = Signal(str)

    def __init__(self, name: str, what: str = "", *, may_be_empty: bool = False, sign: str = "") -> None:
        super().__init__()
        self._may_be_empty = may_be_empty
        self._sign = sign
        self._what = what or f"{name} did not change"
        self._shown = ""
        self.setAccessibleName(name)
        self.setFont(number_font())
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setMinimumWidth(7 * GRID)
        self.editingFinished.connect(self._enter)
        self.textEdited.connect(lambda: self.refused.emit(""))

    def show_number(self, number: float | None) -> None:
        """Show a number, or an empty field."""
        self.show_text("" if number is None else number_text(number))

    def show_text(self, text: str) -> None:
        """Show a number as it was typed, or an empty field."""
        self._shown = text
        self.setText(text)
        self.setCursorPosition(0)

    def event(self, event: QEvent) -> bool:
        if belongs_to_window(self, event, is_typing=self.text() != self._shown):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text() != self._shown:
            self.setText(self._shown)
        else:
            super().keyPressEvent(event)

    def _enter(self) -> None:
        text = self.text()
        if text == self._shown:
            return
        # The old text returns first: losing the focus while the refusal is shown must not refuse once more.
        self.setText(self._shown)
        text = text.strip().removeprefix(self._sign)
        if self._may_be_empty and not text:
            self.entered_text.emit("")
            return
        try:
            typed, number = read_typed(text, self._what), read_number(text, self._what)
        except MaskError as error:
            self.refused.emit(str(error))
        else:
            self.entered_text.emit(typed)
            self.entered.emit(number)
