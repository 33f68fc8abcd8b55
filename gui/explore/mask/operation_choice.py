"""The choice of an operation, above the mask or the parameters of the chosen one."""

from collections.abc import Callable
from importlib import import_module

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QStackedWidget, QWidget

from gui.explore.display import Display
from gui.explore.state import COMBINE
from gui.explore.workspace import Workspace
from gui.page.slot import Slot
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import NarrowBox, column, folding_row, label_for, menu_icon_button, row

_TOOLTIP = "What is done with the picture: filtered with the mask, or something else."
_ADD_TIP = "Add a step: what follows works on the result of this one. Ready chains are there too."
_COMBINE_TIP = "Two results of the chain become one: sum, difference, magnitude, maximum or blend."
_CONVOLUTION = "Each pixel becomes the sum of its neighbours times the weights of the mask."


class OperationChoice(QWidget):
    """The choice of an operation above the mask panel, or above the panel of the operation."""

    def __init__(
        self,
        mask_panel: QWidget,
        workspace: Workspace,
        display: Display,
        ask_for_patch: Callable[[], None],
        make_steps: Callable[[], QWidget],
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._display = display
        self._ask_for_patch = ask_for_patch
        self._panels: dict[str, QWidget] = {"": mask_panel}
        self.box = NarrowBox(12)
        self.box.setAccessibleName("Operation")
        self._add("Convolution", "", _CONVOLUTION)
        self.add_button = menu_icon_button("plus", "Add a step", _ADD_TIP)
        # Where the steps are listed, once there are several.
        self.steps_slot = Slot(make_steps, "gui.explore.chain.chain_list")
        self.steps_slot.hide()
        self.stack = QStackedWidget()
        self.stack.addWidget(mask_panel)
        top = folding_row(label_for("Operation", self.box), (row((self.box, 1), self.add_button), 1))
        top.setContentsMargins(GRID, HALF_GRID, GRID, HALF_GRID)
        self.setLayout(column(self.steps_slot, top, (self.stack, 1), spacing=0))
        self.box.activated.connect(lambda at: workspace.choose(self.box.itemData(at)))
        workspace.operation_changed.connect(self._show)
        self._show_choice()

    def fill(self) -> None:
        """List the operations other than convolution, after the first paint."""
        from engine.work.operations.table import OPERATIONS

        with QSignalBlocker(self.box):
            for operation in OPERATIONS.values():
                self._add(operation.title, operation.key, operation.teaches)
            self._add("Combine two results", COMBINE, _COMBINE_TIP, at=1)
        self._show_choice()

    def panel(self, key: str) -> QWidget:
        """Return the panel of an operation, made when it is first asked for."""
        if key not in self._panels:
            made = self._made(key)
            self._panels[key] = made
            self.stack.addWidget(made)
        return self._panels[key]

    def _made(self, key: str) -> QWidget:
        if key == COMBINE:
            combine: QWidget = import_module("gui.explore.chain.combine_panel").CombinePanel(self._workspace)
            return combine
        from engine.work.operations.table import OPERATIONS
        from gui.explore.mask.operation_panel import OperationPanel

        return OperationPanel(OPERATIONS[key], self._workspace, self._display, self._ask_for_patch)

    def _add(self, title: str, key: str, tooltip: str, at: int | None = None) -> None:
        at = self.box.count() if at is None else at
        self.box.insertItem(at, title, key)
        self.box.setItemData(at, tooltip, Qt.ItemDataRole.ToolTipRole)

    def _show_choice(self) -> None:
        at = max(0, self.box.findData(self._workspace.operation))
        with QSignalBlocker(self.box):
            self.box.setCurrentIndex(at)
        self.box.setToolTip(f"{_TOOLTIP}\n\n{self.box.itemData(at, Qt.ItemDataRole.ToolTipRole)}")

    def _show(self) -> None:
        self._show_choice()
        self.stack.setCurrentWidget(self.panel(self._workspace.operation))
