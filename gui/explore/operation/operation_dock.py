"""The choice of an operation, above the mask or the parameters of the chosen one."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QStackedWidget, QWidget

from gui.explore.display import Display
from gui.explore.operation.operation_box import OperationBox
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import column, label_for, row
from gui.widgets.tab_order import insert_into_tab_order

AskForFile = Callable[[Callable[[Path], None]], None]


class OperationDock(QWidget):
    """The choice of an operation above the mask panel, or above the panel of the operation."""

    def __init__(
        self, mask_panel: QWidget, workspace: Workspace, display: Display, ask_for_file: AskForFile
    ) -> None:
        super().__init__()
        self._mask_panel = mask_panel
        self._workspace = workspace
        self._display = display
        self._ask_for_file = ask_for_file
        self._panels: dict[str, QWidget] = {"": mask_panel}
        self.box = OperationBox(workspace)
        self.stack = QStackedWidget()
        self.stack.addWidget(mask_panel)
        top = row(label_for("Operation", self.box), (self.box, 1), margins=(GRID, HALF_GRID, GRID, HALF_GRID))
        self.setLayout(column(top, (self.stack, 1), spacing=0))
        workspace.operation_changed.connect(self._show)

    def panel(self, key: str) -> QWidget:
        """Return the panel of an operation, made when it is first asked for."""
        if key not in self._panels:
            from engine.tasks.operation.operations import OPERATIONS
            from gui.explore.operation.operation_panel import OperationPanel

            made = OperationPanel(OPERATIONS[key], self._workspace, self._display, self._ask_for_patch)
            self._panels[key] = made
            self.stack.addWidget(made)
            insert_into_tab_order(self.stack, made)
        return self._panels[key]

    def _ask_for_patch(self) -> None:
        self._ask_for_file(lambda path: self._workspace.change(patch_path=str(path)))

    def _show(self) -> None:
        self.stack.setCurrentWidget(self.panel(self._workspace.operation))
