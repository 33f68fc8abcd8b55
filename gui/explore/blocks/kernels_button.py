"""Which kernels Run all runs: all that can, or those that are checked in a menu."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QToolButton

from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.style.metrics import HALF_GRID

_TIP = "The kernels that Run all runs, each with each of the blocks. A kernel without blocks runs once."


class KernelsButton(QToolButton):
    """Edits `Settings.kernels`; none there means every kernel that can do the job."""

    def __init__(self, workspace: Workspace, engine_state: EngineState) -> None:
        super().__init__()
        self._workspace = workspace
        self._engine_state = engine_state
        self.setToolTip(_TIP)
        self.setAccessibleName("Kernels of Run all")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setText("Kernels: 00 of 00")
        # Fusion draws the arrow over the text without this.
        self.setMinimumWidth(self.sizeHint().width() + 3 * HALF_GRID)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        menu.installEventFilter(self)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)
        workspace.settings_changed.connect(self._refresh)
        engine_state.ready_changed.connect(self._refresh)
        self._refresh()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave the menu open when a kernel is checked: there are several to check."""
        menu = self.menu()
        is_click = isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonRelease
        is_key = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress
        if is_click or (is_key and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Space):
            action = menu.activeAction()
            if action is not None and action.isCheckable():
                action.trigger()
                return True
        return super().eventFilter(watched, event)

    def _fill(self) -> None:
        menu, chosen = self.menu(), self._workspace.settings.kernels
        menu.clear()
        every = menu.addAction("All that can run")
        every.setCheckable(True)
        every.setChecked(not chosen)
        every.triggered.connect(lambda: self._choose(()))
        menu.addSeparator()
        for variant in self._engine_state.variants:
            action = menu.addAction(variant.title)
            action.setCheckable(True)
            action.setChecked(variant.key in chosen)
            action.setToolTip(variant.idea if variant.uses_block else f"{variant.idea} It has no blocks.")
            action.setData(variant.key)
            action.triggered.connect(lambda _checked, key=variant.key: self._toggle(key))

    def _toggle(self, key: str) -> None:
        chosen = self._workspace.settings.kernels
        wanted = {*chosen} ^ {key}
        # In teaching order; one that this engine lacks, as a session may bring it, goes.
        self._choose(tuple(one.key for one in self._engine_state.variants if one.key in wanted))

    def _choose(self, kernels: tuple[str, ...]) -> None:
        self._workspace.change(kernels=kernels)
        for action in self.menu().actions():
            if action.isCheckable():
                action.setChecked(action.data() in kernels if action.data() else not kernels)

    def _refresh(self) -> None:
        chosen = self._workspace.settings.kernels
        count = f"{len(chosen)} of {len(self._engine_state.variants)}" if chosen else "all"
        self.setText(f"Kernels: {count}")
