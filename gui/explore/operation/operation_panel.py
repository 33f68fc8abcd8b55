"""In the mask's place: what an operation does, its parameters, and what it found."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from engine.host.protocol import Filtered
from engine.work.operations.contract import Operation
from gui.explore.display import Display
from gui.explore.operation.histogram_plot import HistogramPlot
from gui.explore.operation.parameter_controls import ParameterControls
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.widgets.panel_parts import column, form, quiet_label, row, scrolled, text_button
from gui.widgets.refusal import Refusal

_PATCH = "A picture file with what is to be found, up to 64 × 64 pixels."
_DRAW_PATCH = "Drag a rectangle over the picture: what is in it is searched for, up to 64 × 64 pixels."
_NO_PATCH = "Cut the patch from the picture itself again."


class OperationPanel(QWidget):
    """One operation."""

    def __init__(
        self,
        operation: Operation,
        workspace: Workspace,
        display: Display,
        ask_for_patch: Callable[[], None],
    ) -> None:
        super().__init__()
        self._operation, self._workspace, self._display = operation, workspace, display
        self.setAccessibleName(f"{operation.title} panel")
        teaches = QLabel(operation.teaches, wordWrap=True)
        self.parameters = ParameterControls(operation, workspace.settings.parameters)
        self.refusal = Refusal()
        self.patch_button = text_button("open", "Patch from a file…", "Open a patch", _PATCH)
        self.own_patch_button = text_button("clear", "Own patch", "Patch of the picture itself", _NO_PATCH)
        self.draw_button = text_button("selection-drag", "Select in the picture", "Draw a patch", _DRAW_PATCH)
        self.patch_label = QLabel()
        self.plot = HistogramPlot()
        self._found_form = form()
        self.found = QWidget()
        self.found.setLayout(self._found_form)
        proof = quiet_label(f"Proof: {operation.proof}", small=True, wraps=True)
        content = QWidget()
        content.setLayout(
            column(
                teaches,
                self.parameters,
                row(self.draw_button, 1),
                row(self.patch_button, self.own_patch_button, 1, spacing=HALF_GRID),
                self.patch_label,
                self.refusal,
                self.found,
                self.plot,
                1,
                proof,
                margins=(GRID, HALF_GRID, GRID, GRID),
            )
        )
        self.setLayout(column(scrolled(content)))
        self.parameters.changed.connect(workspace.set_parameter)
        self.parameters.refused.connect(self.refusal.say)
        self.patch_button.clicked.connect(ask_for_patch)
        self.draw_button.clicked.connect(lambda: workspace.region_wanted.emit())
        self.own_patch_button.clicked.connect(lambda: workspace.change(patch_path=""))
        display.found_changed.connect(self._show_found)
        workspace.settings_changed.connect(self._show_settings)
        self._show_settings()
        self._show_found()

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

    def _show_found(self) -> None:
        if not self._is_mine:
            return
        found = self._display.found
        self.refusal.say(self._display.refusal)
        self._show_quantities(found)
        counts = found.counts if found else ()
        self.plot.setVisible(bool(counts))
        self.plot.show_counts(counts)

    def _show_quantities(self, found: Filtered | None) -> None:
        while self._found_form.rowCount():
            self._found_form.removeRow(0)
        for quantity in found.quantities if found else ():
            value = QLabel(quantity.text)
            value.setFont(number_font())
            value.setAlignment(Qt.AlignmentFlag.AlignRight)
            value.setToolTip(quantity.explanation)
            value.setAccessibleName(f"{quantity.title}: {quantity.text}")
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            title = QLabel(quantity.title)
            title.setToolTip(quantity.explanation)
            self._found_form.addRow(title, value)
        self.found.setVisible(bool(found and found.quantities))
