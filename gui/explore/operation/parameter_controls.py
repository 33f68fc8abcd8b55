"""The controls of an operation's parameters: a box of choices, or a number in a range, each explained."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QFormLayout, QWidget

from engine.tasks.operation.contract import Operation, Parameter
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import label_for
from gui.widgets.whole_number_box import WholeNumberBox

_NOTE_LINES = 5


class ParameterControls(QWidget):
    """The parameters of one operation."""

    changed = Signal(str, object)  # name and value of a parameter
    refused = Signal(str)  # why what was typed is not taken

    def __init__(self, operation: Operation, values: Mapping[str, Any]) -> None:
        super().__init__()
        self._operation = operation
        self.controls: dict[str, QWidget] = {}
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(GRID)
        form.setVerticalSpacing(HALF_GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for parameter in operation.parameters:
            control = self._control(parameter, values.get(parameter.name, parameter.default))
            control.setAccessibleName(f"{parameter.title} of {operation.title}")
            control.setToolTip(f"{parameter.explanation}\n\n{parameter.range_text.capitalize()}.")
            self.controls[parameter.name] = control
            form.addRow(label_for(parameter.title, control), control)
            note = ElidedLabel(1, most=_NOTE_LINES, small=True)
            note.setText(parameter.explanation)
            form.addRow(note)
        self.setLayout(form)

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
        numbers = QDoubleSpinBox()
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
