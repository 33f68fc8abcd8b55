"""The controls of an operation's parameters: a box of choices, or a number in a range, each explained."""

import re
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QWidget

from engine.mask.text_cells import quoted
from engine.tasks.operation.contract import Operation, Parameter
from gui.style.metrics import number_font
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import form, label_for
from gui.widgets.whole_number_box import WholeNumberBox

_NOTE_LINES = 5


class _DecimalBox(QDoubleSpinBox):
    """Takes a number when Enter is pressed or the box is left; otherwise the one before returns.

    Qt's own box swallows the comma of 1,5 and takes 15.
    """

    refused = Signal(str)  # why the text was not taken

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self._parameter = parameter

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        is_number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", self._number(text)) is not None
        is_taken = is_number and self.minimum() <= float(self._number(text)) <= self.maximum()
        state = QValidator.State.Acceptable if is_taken else QValidator.State.Intermediate
        return state, text, position

    def valueFromText(self, text: str) -> float:
        return float(self._number(text))

    def fixup(self, text: str) -> str:
        # Qt calls this where an illegal text is entered, and then shows the number before.
        typed = self._number(text)
        why = f"{quoted(typed)} is not {self._parameter.range_text}" if typed else "nothing was typed"
        point = f" Use a point: {typed.replace(',', '.')}." if typed.count(",") == 1 else ""
        self.refused.emit(f"{self._parameter.title} did not change: {why}.{point}")
        return text

    def _number(self, text: str) -> str:
        return text.strip().removesuffix(self.suffix().strip()).strip()


class ParameterControls(QWidget):
    """The parameters of one operation."""

    changed = Signal(str, object)  # name and value of a parameter
    refused = Signal(str)  # why what was typed is not taken

    def __init__(self, operation: Operation, values: Mapping[str, Any]) -> None:
        super().__init__()
        self._operation = operation
        self.controls: dict[str, QWidget] = {}
        fields = form()
        for parameter in operation.parameters:
            control = self._control(parameter, values.get(parameter.name, parameter.default))
            control.setAccessibleName(f"{parameter.title} of {operation.title}")
            control.setToolTip(f"{parameter.explanation}\n\n{parameter.range_text.capitalize()}.")
            self.controls[parameter.name] = control
            fields.addRow(label_for(parameter.title, control), control)
            note = ElidedLabel(1, most=_NOTE_LINES, small=True)
            note.setText(parameter.explanation)
            fields.addRow(note)
        self.setLayout(fields)

    def show_values(self, values: Mapping[str, Any]) -> None:
        """Show other values; what is not among them has its default."""
        for parameter in self._operation.parameters:
            control, value = self.controls[parameter.name], values.get(parameter.name, parameter.default)
            with QSignalBlocker(control):
                if isinstance(control, QComboBox):
                    control.setCurrentIndex(max(0, control.findData(value)))
                elif isinstance(control, QDoubleSpinBox):
                    control.setValue(float(value))
                elif isinstance(control, WholeNumberBox):
                    control.setValue(int(value))

    def _control(self, parameter: Parameter, value: Any) -> QWidget:
        if parameter.choices:
            return self._choice(parameter, value)
        if parameter.is_whole:
            box = WholeNumberBox(
                parameter.title, int(parameter.least), int(parameter.most), parameter.range_text
            )
            box.setSpecialValueText(parameter.least_word)
            box.setValue(int(value))
            box.valueChanged.connect(lambda number: self.changed.emit(parameter.name, number))
            box.refused.connect(self.refused)
            return box
        numbers = _DecimalBox(parameter)
        numbers.refused.connect(self.refused)
        numbers.setRange(parameter.least, parameter.most)
        numbers.setDecimals(1)
        numbers.setSingleStep(15.0)
        numbers.setFont(number_font())
        numbers.setKeyboardTracking(False)
        numbers.setSuffix(f" {parameter.unit}" if parameter.unit else "")
        numbers.setValue(float(value))
        numbers.valueChanged.connect(lambda number: self.changed.emit(parameter.name, number))
        return numbers

    def _choice(self, parameter: Parameter, value: Any) -> QComboBox:
        box = QComboBox()
        for choice in parameter.choices:
            box.addItem(str(choice), choice)
        box.setCurrentIndex(max(0, box.findData(value)))
        box.activated.connect(lambda at: self.changed.emit(parameter.name, box.itemData(at)))
        return box
