"""The menu of ready masks, under the name of the one that is shown."""

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QSizePolicy, QWidget

from engine.errors import EngineError
from engine.mask.mask import Mask
from engine.mask.presets import Preset, presets
from gui.explore.mask.preset_names import is_title, preset_of
from gui.explore.workspace import Workspace

_TOOLTIP = (
    "Ready masks, by what they do. Each has a sentence that says what to look at; choosing one can be undone."
)


class PresetButton(QPushButton):
    """Shows which preset the mask is, and whether it was edited since; pressed, it offers all of them."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self._menu.aboutToShow.connect(self.fill_menu)
        self.setMenu(self._menu)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Preset")
        workspace.mask_changed.connect(self._show_mask)
        self._show_mask(workspace.mask)

    def fill_menu(self) -> None:
        """Write the groups and their presets into the menu, when it is opened first."""
        if not self._menu.isEmpty():
            return
        groups: dict[str, QMenu] = {}
        try:
            ready = presets()
        except EngineError as error:
            self._menu.addAction(str(error)).setEnabled(False)
            return
        for preset in ready:
            group = groups.get(preset.group)
            if group is None:
                group = groups[preset.group] = self._menu.addMenu(preset.group)
                group.setToolTipsVisible(True)
            group.addAction(self._action(preset, group))

    def _action(self, preset: Preset, menu: QMenu) -> QAction:
        action = QAction(preset.title, menu)
        action.setToolTip(preset.teaches)
        action.setStatusTip(preset.teaches)
        action.triggered.connect(lambda: self._workspace.set_mask(preset.mask, f"Preset {preset.title}"))
        return action

    def _show_mask(self, mask: Mask) -> None:
        preset, title = preset_of(mask), self._workspace.mask_title
        # A preset with another anchor, offset or divisor keeps its name, but is not what the name promises.
        is_own = bool(mask.name) and not is_title(mask.name)
        if preset is not None or is_own:
            self.setText(title)
        else:
            self.setText(f"{title}, edited" if title else "Own mask")
        self.setToolTip(f"{preset.teaches}\n\n{_TOOLTIP}" if preset is not None else _TOOLTIP)
