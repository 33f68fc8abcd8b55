"""The choice of an operation: convolution with the mask, or another one."""

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox

from gui.explore.workspace import Workspace
from gui.widgets.panel_parts import keep_narrow

_TOOLTIP = "What is done with the picture: filtered with the mask, or something else."
_CONVOLUTION = "Each pixel becomes the sum of its neighbours times the weights of the mask."


class OperationBox(QComboBox):
    """Chooses the operation; the others are listed by `fill`, after the first paint."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setAccessibleName("Operation")
        self.setToolTip(_TOOLTIP)
        keep_narrow(self, 14)
        self._add("Convolution", "", _CONVOLUTION)
        self.activated.connect(lambda at: workspace.choose(self.itemData(at)))
        workspace.operation_changed.connect(self._show)

    def fill(self) -> None:
        """List the operations other than convolution."""
        from engine.tasks.operation.operations import OPERATIONS

        with QSignalBlocker(self):
            for operation in OPERATIONS.values():
                self._add(operation.title, operation.key, operation.teaches)
        self._show()

    def _add(self, title: str, key: str, tooltip: str) -> None:
        self.addItem(title, key)
        self.setItemData(self.count() - 1, tooltip, Qt.ItemDataRole.ToolTipRole)

    def _show(self) -> None:
        at = self.findData(self._workspace.operation)
        with QSignalBlocker(self):
            self.setCurrentIndex(max(0, at))
        self.setToolTip(f"{_TOOLTIP}\n\n{self.itemData(max(0, at), Qt.ItemDataRole.ToolTipRole)}")
