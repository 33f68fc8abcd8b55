"""What stands in the docks Mask and Kernel: the mask and its kernels, or those of another operation."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QStackedWidget, QWidget

from gui.engine_link.engine_state import EngineState
from gui.explore.operation.operation_box import OperationBox
from gui.explore.operation.operation_state import OperationState
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import column, label_for, row

AskForFile = Callable[[Callable[[Path], None]], None]


class OperationDock(QWidget):
    """The choice of an operation above the mask panel, or above the panel of the operation."""

    def __init__(self, mask_panel: QWidget, operations: OperationState, ask_for_file: AskForFile) -> None:
        super().__init__()
        self._mask_panel = mask_panel
        self._operations = operations
        self._ask_for_file = ask_for_file
        self._panels: dict[str, QWidget] = {"": mask_panel}
        self.box = OperationBox(operations)
        self.stack = QStackedWidget()
        self.stack.addWidget(mask_panel)
        top = row(label_for("Operation", self.box), (self.box, 1), margins=(GRID, HALF_GRID, GRID, HALF_GRID))
        self.setLayout(column(top, (self.stack, 1), spacing=0))
        operations.chosen.connect(self._show)

    def sizeHint(self) -> QSize:
        hint = self._mask_panel.sizeHint()
        return QSize(hint.width(), hint.height() + self.box.sizeHint().height() + GRID)

    def panel(self, key: str) -> QWidget:
        """Return the panel of an operation, made when it is first asked for."""
        if key not in self._panels:
            from engine.tasks.operation.operations import OPERATIONS
            from gui.explore.operation.operation_panel import OperationPanel

            made = OperationPanel(OPERATIONS[key], self._operations, self._ask_for_patch)
            self._panels[key] = made
            self.stack.addWidget(made)
        return self._panels[key]

    def _ask_for_patch(self) -> None:
        self._ask_for_file(lambda path: self._operations.change(patch_path=str(path)))

    def _show(self) -> None:
        self.stack.setCurrentWidget(self.panel(self._operations.key))


class KernelDock(QStackedWidget):
    """The kernels that filter, or those of the operation."""

    def __init__(
        self, kernel_panel: QWidget, operations: OperationState, workspace: Workspace, state: EngineState
    ) -> None:
        super().__init__()
        self._made_of = operations, workspace, state
        self._kernel_panel = kernel_panel
        self.addWidget(kernel_panel)
        operations.chosen.connect(self._show)

    def sizeHint(self) -> QSize:
        return self._kernel_panel.sizeHint()

    def _show(self) -> None:
        operations, *_ = self._made_of
        if operations.is_active and self.count() == 1:
            from gui.explore.operation.operation_kernels import OperationKernels

            self.addWidget(OperationKernels(*self._made_of))
        self.setCurrentIndex(int(operations.is_active))
