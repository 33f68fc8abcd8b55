"""Which kernels Run all runs: all that can, or those that are checked in a menu."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu

from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.widgets.panel_parts import menu_button

_TIP = "The kernels that Run all runs, each with each of the blocks. A kernel without blocks runs once."


class KernelsMenu(QMenu):
    """Edits `Settings.kernels`; none there means every kernel that can do the job. `button` opens it."""

    def __init__(self, workspace: Workspace, engine_state: EngineState) -> None:
        super().__init__()
        self._workspace = workspace
        self._engine_state = engine_state
        self.button = menu_button("Kernels: 00 of 00", "Kernels of Run all", _TIP, self)
        self.aboutToShow.connect(self._fill)
        workspace.settings_changed.connect(self._refresh)
        engine_state.ready_changed.connect(self._refresh)
        self._refresh()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._has_checked():
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Space or not self._has_checked():
            super().keyPressEvent(event)

    def _has_checked(self) -> bool:
        """Check the entry under the mouse or cursor; the menu stays open, as there are several to check."""
        action = self.activeAction()
        if action is not None:
            action.trigger()
        return action is not None

    def _fill(self) -> None:
        self.clear()
        self._add("All that can run", "", "")
        self.addSeparator()
        for variant in self._engine_state.variants:
            idea = variant.idea if variant.uses_block else f"{variant.idea} It has no blocks."
            self._add(variant.title, variant.key, idea)
        self._refresh()

    def _add(self, text: str, key: str, tooltip: str) -> None:
        action = self.addAction(text)
        action.setCheckable(True)
        action.setToolTip(tooltip)
        action.setData(key)
        action.triggered.connect(lambda: self._toggle(key))

    def _toggle(self, key: str) -> None:
        checked = {*self._workspace.settings.kernels} ^ {key} if key else set()
        # In teaching order; one that this engine lacks, as a session may bring it, goes.
        kernels = tuple(one.key for one in self._engine_state.variants if one.key in checked)
        self._workspace.change(kernels=kernels)
        self._refresh()

    def _refresh(self) -> None:
        chosen = self._workspace.settings.kernels
        for action in self.actions():
            action.setChecked(action.data() in chosen if action.data() else not chosen)
        count = f"{len(chosen)} of {len(self._engine_state.variants)}" if chosen else "all"
        self.button.setText(f"Kernels: {count}")
