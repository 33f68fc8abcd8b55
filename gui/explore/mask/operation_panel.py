"""In the mask's place: what an operation does, its parameters, and what it reports."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from engine.work.operations.contract import Operation, Parameter
from gui.explore.inspect.histogram_plot import HistogramPlot
from gui.explore.preview_controller import Display
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, follow
from gui.widgets.fields import NumberBox
from gui.widgets.labels import ElidedLabel, Findings, NamedFinding
from gui.widgets.panel_parts import (
    RefusalLabel,
    boxed,
    column,
    fill_box,
    form,
    label_for,
    quiet_label,
    row,
    scrolled,
    text_button,
)

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
            if isinstance(control, QComboBox):
                control.setCurrentIndex(max(0, control.findData(value)))
            elif isinstance(control, NumberBox):
                control.show_value(value)

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
        return box

    def _choice(self, parameter: Parameter, value: Any) -> QComboBox:
        box = QComboBox()
        fill_box(box, {choice: str(choice) for choice in parameter.choices}, value)
        box.activated.connect(lambda at: self.changed.emit(parameter.name, box.itemData(at)))
        return box


_PATCH = "A picture file with what is to be found, up to 64 × 64 pixels."
_DRAW_PATCH = "Drag a rectangle over the picture: what is in it is searched for, up to 64 × 64 pixels."
_NO_PATCH = "Cut the patch from the picture itself again."


class OperationPanel(QWidget):
    """One operation."""

    def __init__(
        self, operation: Operation, workspace: Workspace, display: Display, ask_for_patch: Callable[[], None]
    ) -> None:
        super().__init__(accessibleName=f"{operation.title} panel")
        self._operation, self._workspace, self._display = operation, workspace, display
        teaches = QLabel(operation.teaches, wordWrap=True)
        self.parameters = ParameterControls(operation, workspace.settings.parameters)
        self.refusal = RefusalLabel()
        self.patch_button = text_button("open", "Patch from a file…", "Open a patch", _PATCH)
        self.own_patch_button = text_button("clear", "Own patch", "Patch of the picture itself", _NO_PATCH)
        self.draw_button = text_button("selection-drag", "Select in the picture", "Draw a patch", _DRAW_PATCH)
        self.patch_label = QLabel()
        self.plot = HistogramPlot()
        self.findings = Findings("What the operation found", spacing=HALF_GRID)
        proof = quiet_label(f"Proof: {operation.proof}", small=True, wraps=True)
        files = row(self.patch_button, self.own_patch_button, 1, spacing=HALF_GRID)
        patch = row(self.draw_button, 1), files, self.patch_label
        parts = teaches, self.parameters, *patch, self.refusal, self.findings, self.plot, 1, proof
        self.setLayout(column(scrolled(boxed(column(*parts, margins=(GRID, HALF_GRID, GRID, GRID))))))
        self.parameters.changed.connect(workspace.set_parameter)
        self.parameters.refused.connect(self.refusal.say)
        self.patch_button.clicked.connect(ask_for_patch)
        self.draw_button.clicked.connect(lambda: workspace.region_wanted.emit())
        self.own_patch_button.clicked.connect(lambda: workspace.change(patch_path=""))
        follow(self._show_settings, workspace.settings_changed)
        follow(self._show_result, display.outcome_changed)

    @property
    def _is_mine(self) -> bool:
        return self._workspace.operation == self._operation.key

    def _show_settings(self) -> None:
        if not self._is_mine:
            return
        takes, path = self._operation.takes_patch, self._workspace.settings.patch_path
        self.parameters.show_values(self._workspace.settings.parameters)
        self.patch_button.setVisible(takes)
        self.draw_button.setVisible(takes)
        self.own_patch_button.setVisible(takes and bool(path))
        self.patch_label.setVisible(takes and bool(path))
        self.patch_label.setText(f"Patch: {Path(path).name}" if path else "")
        self.parameters.setEnabled(not path)

    def _show_result(self) -> None:
        if not self._is_mine:
            return
        reply = self._display.operation_result
        self.refusal.say(self._display.refusal)
        self.findings.show_findings(
            [NamedFinding(one.title, one.text, one.explanation) for one in reply.quantities] if reply else ()
        )
        counts = reply.counts if reply else ()
        self.plot.setVisible(bool(counts))
        self.plot.show_counts(counts)
