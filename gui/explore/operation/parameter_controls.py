"""The controls of an operation's parameters: a box of choices, or a number in a range, each explained."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from engine.work.operations.contract import Operation, Parameter
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.number_box import NumberBox
from gui.widgets.panel_parts import fill_box, form, label_for

_NOTE_LINES = 5


class ParameterControls(QWidget):
    """The parameters of one operation."""

    changed = Signal(str, object)  # name and value of a parameter
    refused = Signal(str)  # why what was typed is not taken; empty while another text is typed

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
                elif isinstance(control, NumberBox):
                    control.setValue(value)

    def _control(self, parameter: Parameter, value: Any) -> QWidget:
        if parameter.choices:
            return self._choice(parameter, value)
        decimals, least, most = 0 if parameter.is_whole else 1, parameter.least, parameter.most
        box = NumberBox(parameter.title, least, most, parameter.range_text, decimals=decimals)
        box.setSpecialValueText(parameter.least_word)
        if decimals:
            box.setSingleStep(15.0)
            box.setSuffix(f" {parameter.unit}".rstrip())
        box.setValue(value)
        box.valueChanged.connect(lambda: self.changed.emit(parameter.name, box.value()))
        box.refused.connect(self.refused)
        # What was said of the text before no longer holds.
        return box

    def _choice(self, parameter: Parameter, value: Any) -> QComboBox:
        box = QComboBox()
        fill_box(box, {choice: str(choice) for choice in parameter.choices}, value)
        box.activated.connect(lambda at: self.changed.emit(parameter.name, box.itemData(at)))
        return box
