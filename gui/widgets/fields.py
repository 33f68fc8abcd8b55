"""Fields in which anything can be typed: a number, also a fraction, or a list; else refused, with why."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QValidator
from PySide6.QtWidgets import QDoubleSpinBox, QLineEdit, QMenu, QWidget

from engine.errors import EngineError, MaskError
from engine.mask.generator_table import number_text
from engine.mask.text import parse_mask
from engine.mask.typed import quoted, read_fraction, with_point
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.widgets.panel_parts import RefusalLabel, column, folding_row, menu_button, quiet_label, row

MINUS = "\N{MINUS SIGN}"
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")


class NumberBox(QDoubleSpinBox):
    """Takes a number when Enter is pressed or the box is left; otherwise the one before returns.

    Qt's own box swallows the keys that it does not like: who types 1,5 into it gets 15, and 12000 becomes
    1200 where four digits are the most. `name` is for screen readers and refusals ("Rows of the mask"),
    `wanted` says what is to be typed: "a whole number from 1 to 127". Without decimals its value is an int.
    `follows` returns what the arrows lead to from a value, up or not; else they add and subtract.
    """

    refused = Signal(str)  # why the text was not taken; empty while another one is typed

    def __init__(
        self,
        name: str,
        least: float,
        most: float,
        wanted: str,
        *,
        decimals: int = 0,
        follows: Callable[[int, bool], int] | None = None,
    ) -> None:
        super().__init__()
        self._name, self._wanted, self._follows = name, wanted, follows
        self.setDecimals(decimals)
        self.setRange(least, most)
        # A 1 on the way to 16 is not meant.
        self.setKeyboardTracking(False)
        self.setFont(number_font())
        self.setAccessibleName(name)
        self.lineEdit().textEdited.connect(lambda: self.refused.emit(""))

    def value(self) -> Any:
        return super().value() if self.decimals() else int(super().value())

    def show_value(self, value: float) -> None:
        """Show a value without a signal; where it is the same, what is being typed stays."""
        if self.value() != value:
            with QSignalBlocker(self):
                self.setValue(value)

    def show_place(self, at: int, count: int) -> None:
        """Show an index below `count` without a signal."""
        self._wanted = f"a whole number from 0 to {count - 1:,}"
        with QSignalBlocker(self):
            self.setRange(0, count - 1)
            self.setValue(at)

    def stepBy(self, steps: int) -> None:
        if self._follows is None:
            super().stepBy(steps)
        else:
            self.setValue(self._follows(self.value(), steps > 0))

    def event(self, event: QEvent) -> bool:
        shown = f"{self.textFromValue(self.value())}{self.suffix()}"
        if belongs_to_window(self, event, is_typing=self.text() not in (shown, self.specialValueText())):
            event.ignore()
            return False
        return super().event(event)

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        typed, pattern = self._typed(text), _DECIMAL if self.decimals() else _WHOLE
        is_number = pattern.fullmatch(typed) is not None
        is_special = bool(text) and text == self.specialValueText()
        is_taken = is_special or (is_number and self.minimum() <= float(typed) <= self.maximum())
        state = QValidator.State.Acceptable if is_taken else QValidator.State.Intermediate
        return state, text, position

    def valueFromText(self, text: str) -> float:
        return self.minimum() if text == self.specialValueText() else float(self._typed(text))

    def fixup(self, text: str) -> str:
        # Qt calls this where an illegal text is entered, and then shows the number before.
        typed = self._typed(text)
        why = f"{quoted(typed)} is not {self._wanted}." if typed else f"type {self._wanted}."
        with_point = typed.replace(",", ".")
        is_right = self.validate(with_point, 0)[0] is QValidator.State.Acceptable
        self.refused.emit(f"{self._name} did not change: {why}{f' Use a point: {with_point}.' * is_right}")
        return text

    def _typed(self, text: str) -> str:
        return text.strip().removesuffix(self.suffix().strip()).strip()


def doubled(value: int, up: bool) -> int:
    """Return twice a value, or half of it, at least 1."""
    return value * 2 if up else max(1, value // 2)


def belongs_to_window(field: QWidget, event: QEvent, *, is_typing: bool) -> bool:
    """Return whether a key in a field is left to the window, as one of its actions has it.

    Undo and redo are the field's own while a text is typed. Qt offers every key to the field first
    (ShortcutOverride), which takes them even with nothing to undo, and on Linux Ctrl+E for End, too.
    """
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    if event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo):
        return not is_typing
    if event.matches(QKeySequence.StandardKey.Paste):
        # The window pastes pictures.
        return False
    keys = QKeySequence(event.keyCombination())
    return any(keys in action.shortcuts() for action in field.window().actions())


def read_typed(
    text: str,
    what: str,
    field: str = "this field",
    if_empty: str = "Write a number, such as 0.5.",
    if_several: str = "Write a half as 0.5.",
) -> str:
    """Return the number or the fraction that a person typed into a field; a comma in it is a decimal one.

    Raises MaskError, which begins with `what`, where it is no number, or more than one.
    """
    typed = text.strip()
    if not typed:
        raise MaskError(what, "nothing was typed", if_empty)
    try:
        # Two cells in a pasted mask; of one number it is what half of the world types.
        mask = parse_mask(with_point(typed.replace(MINUS, "-"), "row 1, column 1"))
    except MaskError as error:
        why = re.sub("(the weight in )?row 1, column 1 (says|is)", "you typed", error.why)
        remedy = error.remedy.replace("Keep weights", "Keep it").replace("Give every cell", "Write")
        raise MaskError(what, why, remedy) from error
    if mask.taps != 1:
        raise MaskError(what, f"{field} holds one number, and you typed {mask.taps} numbers", if_several)
    # A divisor with a blank before it: of one number it is a fraction.
    return number_text(float(mask.weights[0, 0])) if mask.typed.divisor else mask.typed.cells[0][0]


class NumberField(QLineEdit):
    """Takes a number when Enter is pressed or the field is left; other text is refused and undone.

    `name` is for screen readers; `what` begins a refusal. Where the field may be empty, only the signal
    `entered_text` reports that. `sign` may stand before the number, as people write it elsewhere.
    """

    # Another number than the one shown before, and as typed; why a text was not taken, empty while another
    # one is typed.
    entered = Signal(float)
    entered_text = Signal(str)
    refused = Signal(str)

    def __init__(self, name: str, what: str = "", *, may_be_empty: bool = False, sign: str = "") -> None:
        super().__init__()
        self._may_be_empty, self._sign = may_be_empty, sign
        self._what = what or f"{name} did not change"
        self._shown = ""
        self.setAccessibleName(name)
        self.setFont(number_font())
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setMinimumWidth(7 * GRID)
        self.editingFinished.connect(self._enter)
        self.textEdited.connect(lambda: self.refused.emit(""))

    def show_number(self, number: float | None) -> None:
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
        except MaskError as error:
            self.refused.emit(str(error))
            return
        number = read_fraction(typed, self._what)
        self.entered_text.emit(typed)
        self.entered.emit(number.times / number.over)


Items = tuple[Any, ...]


class ListField(QWidget):
    """The owner answers `chosen` with `show_items`. Where a text is refused, the list stays as it was.

    `kind` is what the list has: "tiles". `read` returns a list and a note on it, or raises an EngineError;
    `write` returns the text of a list. `before` and `after` stand in the line of the field.
    """

    chosen = Signal(object)  # the list that was typed, or a set

    def __init__(
        self,
        kind: str,
        sets: Iterable[tuple[str, Items]],
        read: Callable[[str], tuple[Items, str]],
        write: Callable[[Items], str],
        *,
        before: tuple[QWidget, ...] = (),
        after: tuple[QWidget, ...] = (),
    ) -> None:
        super().__init__()
        self._read, self._write = read, write
        self._shown: Items | None = None
        self.field = QLineEdit()
        self.field.setFont(number_font())
        menu = QMenu()
        for text, items in sets:
            menu.addAction(text).triggered.connect(lambda _checked=False, those=items: self._choose(those))
        tip = f"{kind.capitalize()} that are often compared."
        self.sets = menu_button("Sets", f"Sets of {kind}", tip, menu)
        self.refusal = RefusalLabel()
        self.note = quiet_label(wraps=True)
        first, then = row(*before, (self.field, 1)), row(self.sets, *after, spacing=HALF_GRID)
        line = folding_row((first, 1), then, spacing=HALF_GRID)
        self.setLayout(column(line, self.refusal, self.note, spacing=HALF_GRID))
        self.field.editingFinished.connect(self.take)
        # While a text is typed, what is shown of the one before no longer holds.
        self.field.textEdited.connect(lambda: self._say())

    @property
    def is_refused(self) -> bool:
        return bool(self.refusal.text())

    def show_items(self, items: Items) -> None:
        """Show a list; where it is the same, what is being typed stays."""
        if items != self._shown:
            self._show(items)

    def take(self) -> None:
        text = self.field.text()
        # Leaving the field again keeps the note.
        if self._shown is not None and text == self._write(self._shown) and not self.is_refused:
            return
        try:
            items, note = self._read(text)
        except EngineError as error:
            self._say(str(error))
        else:
            self._choose(items, note)

    def _choose(self, items: Items, note: str = "") -> None:
        self.chosen.emit(items)
        # What is typed and refused goes also where the list was chosen already.
        self._show(items, note)

    def _show(self, items: Items, note: str = "") -> None:
        self._shown = items
        self.field.setText(self._write(items))
        # Show the beginning of a long list.
        self.field.setCursorPosition(0)
        self._say(note=note)

    def _say(self, refusal: str = "", note: str = "") -> None:
        self.refusal.say(refusal)
        self.note.setText(note)
        self.note.setVisible(bool(note))
