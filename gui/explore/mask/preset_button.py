"""The menu of ready masks, under the name of the one that is shown."""

from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QMenu, QPushButton, QSizePolicy, QStyleOptionButton

from engine.errors import EngineError
from engine.mask.mask import Mask
from engine.mask.presets import Preset, presets
from gui.explore.mask.preset_names import preset_of, shown_title
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID

# The frame, the arrow of the menu, and room on both sides.
_AROUND_NAME = 5 * GRID
# Those that most come for, without a way through a group.
_COMMON = ("identity", "box-3", "gaussian-5", "sharpen", "sobel-x", "sobel-y", "outline", "emboss")
_TOOLTIP = (
    "Ready masks, by what they do. Each has a sentence that says what to look at; choosing one can be undone."
)


class PresetButton(QPushButton):
    """Shows which preset the mask is and whether it was edited since; its menu has all presets.

    A long name, such as that of a mask from a file, is cut and does not widen the panel.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
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
        """Write the groups and their presets into the menu, when it is first opened."""
        if not self._menu.isEmpty():
            return
        try:
            ready = presets()
        except EngineError as error:
            self._menu.addAction(str(error)).setEnabled(False)
            return
        by_key = {preset.key: preset for preset in ready}
        for key in _COMMON:
            if key in by_key:
                self._add(self._menu, by_key[key])
        self._menu.addSeparator()
        groups: dict[str, QMenu] = {}
        for preset in ready:
            if preset.group not in groups:
                groups[preset.group] = self._menu.addMenu(preset.group)
                groups[preset.group].setToolTipsVisible(True)
            self._add(groups[preset.group], preset)

    def _add(self, menu: QMenu, preset: Preset) -> None:
        action = menu.addAction(preset.title)
        action.setToolTip(preset.teaches)
        action.setStatusTip(preset.teaches)
        action.triggered.connect(partial(self._choose, preset))

    def _choose(self, preset: Preset) -> None:
        self._workspace.set_mask(preset.mask, f"Preset {preset.title}")

    def _show_mask(self, mask: Mask) -> None:
        preset, title = preset_of(mask), shown_title(mask, self._workspace.mask_title)
        # A name is no text with mnemonics.
        self.setText(title.replace("&", "&&"))
        self.setToolTip(f"{preset.teaches if preset is not None else title}\n\n{_TOOLTIP}")

    def minimumSizeHint(self) -> QSize:
        return QSize(1, super().minimumSizeHint().height())

    def initStyleOption(self, option: QStyleOptionButton) -> None:
        super().initStyleOption(option)
        room = self.width() - _AROUND_NAME
        option.text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room)
