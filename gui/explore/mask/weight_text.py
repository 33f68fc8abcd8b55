"""Weights as people read them in a narrow cell, and as they type them there and into a field."""

import re
from functools import lru_cache

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit

from engine.errors import MaskError
from engine.mask.generator_table import number_text
from engine.mask.mask import Mask
from engine.mask.text import parse_mask
from engine.mask.typed import TypedWeights, with_point
from gui.style.metrics import GRID, number_font
from gui.widgets.fields import belongs_to_window

_MINUS = "\N{MINUS SIGN}"
_LONGEST_EXACT = 6


def read_cell(text: str) -> str:
    """Return what a person typed into a cell (`2`, `-0.5`, `1/9`) for `TypedWeights`; see `read_typed`."""
    if_empty = "Write a number; Delete sets a cell to 0."
    if_several = "Write a half as 0.5; paste several cells with Ctrl+V."
    return read_typed(text, "The weight did not change", "a cell", if_empty, if_several)


def read_typed(
    text: str,
    what: str,
    field: str = "this field",
    if_empty: str = "Write a number, such as 0.5.",
    if_several: str = "Write a half as 0.5.",
) -> str:
    """Return the number or the fraction that a person typed into a field; `what` begins the refusal.

    A comma in it is a decimal one.

    Raises
    ------
    MaskError
        It is not a number, or more than one.
    """
    typed = text.strip()
    if not typed:
        raise MaskError(what, "nothing was typed", if_empty)
    try:
        # Two cells in a pasted mask; of one number it is what half of the world types.
        mask = parse_mask(with_point(typed.replace(_MINUS, "-"), "row 1, column 1"))
    except MaskError as error:
        why = re.sub("(the weight in )?row 1, column 1 (says|is)", "you typed", error.why)
        remedy = error.remedy.replace("Keep weights", "Keep it").replace("Give every cell", "Write")
        raise MaskError(what, why, remedy) from error
    if mask.taps != 1:
        raise MaskError(what, f"{field} holds one number, and you typed {mask.taps} numbers", if_several)
    # A divisor with a blank before it: of one number it is a fraction.
    return number_text(float(mask.weights[0, 0])) if mask.typed.divisor else mask.typed.cells[0][0]


@lru_cache(maxsize=8192)
def texts_of(cell: str) -> tuple[str, ...]:
    """Return a cell as typed in ever shorter forms: a fraction itself, then as `short_texts` of its value."""
    numerator, slash, over = cell.partition("/")
    if not slash:
        return short_texts(float(cell))
    return (cell.replace("-", _MINUS), *short_texts(float(numerator) / float(over)))


@lru_cache(maxsize=8192)
def short_texts(weight: float) -> tuple[str, ...]:
    """Return a weight in ever shorter forms, for cells of any width.

    A cell shows the first that fits, so 1/9 is 0.1111, 0.111, 0.11, .11 or .1.
    """
    exact = _with_short_exponent(number_text(weight))
    texts = {exact} if len(exact) <= _LONGEST_EXACT else set()
    for digits in (4, 3, 2, 1):
        text = _rounded(weight, digits)
        texts |= {text, text.replace("0.", ".", 1) if abs(float(text)) < 1.0 else text}
    # The longest first; among equally long ones the nearest first.
    longest_first = sorted(texts, key=lambda text: (-len(text), abs(float(text) - weight)))
    return tuple(text.replace("-", _MINUS) for text in longest_first)


def _rounded(weight: float, digits: int) -> str:
    """Return a weight with so many significant digits, with an exponent only where that is shorter."""
    text = f"{weight:.{digits}g}"
    short = _with_short_exponent(text)
    _, _, exponent = short.partition("e")
    if not exponent:
        return text
    power = int(exponent)
    plain = f"{float(text):.0f}" if power > 0 else f"{float(text):.{digits - 1 - power}f}"
    return plain if len(plain) <= len(short) else short


def _with_short_exponent(text: str) -> str:
    """Return 1e-07 as 1e-7."""
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


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
            typed = read_typed(text, self._what)
            number = float(Mask(TypedWeights(((typed,),))).weights[0, 0])
        except MaskError as error:
            self.refused.emit(str(error))
        else:
            self.entered_text.emit(typed)
            self.entered.emit(number)
