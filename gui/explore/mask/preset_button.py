"""The button that names the mask and opens the library."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton, QSizePolicy, QStyleOptionButton

from engine.mask.generator_table import GENERATORS
from engine.mask.mask import Mask
from gui.explore.mask.library import MaskLibrary
from gui.explore.mask.library_entries import LibraryEntry, OwnMasks
from gui.explore.mask.library_rows import MaskEffects
from gui.explore.mask.preset_names import preset_of, shown_title
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID

# The frame, the arrow, and room on both sides.
_AROUND_NAME = 5 * GRID
_TOOLTIP = (
    "Ready masks with a picture and a sentence each, your own ones, and generators with sliders.\n"
    "Type to search; choosing one can be undone."
)


class PresetButton(QPushButton):
    """Shows which preset the mask is and whether it was edited since; opens the library.

    A long name, such as that of a mask from a file, is cut and does not widen the panel.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._library: MaskLibrary | None = None
        self.effects: MaskEffects | None = None
        """What draws what the masks of the library do; set before the library is opened, or left out."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Preset")
        self.clicked.connect(lambda: self.library.open_below(self))
        workspace.mask_changed.connect(self._show_mask)
        self._show_mask(workspace.mask)

    @property
    def library(self) -> MaskLibrary:
        """The library, made when it is first opened."""
        if self._library is None:
            self._library = MaskLibrary(self._workspace, OwnMasks(), self, self.effects)
        return self._library

    @property
    def choices(self) -> list[QAction]:
        """An action for each mask and generator of the library; its data is the title of its group."""
        return [self._action(entry) for entry in self.library.entries()]

    def _action(self, entry: LibraryEntry) -> QAction:
        action = QAction(entry.title, self)
        action.setToolTip(entry.about)
        action.setData(entry.group)
        action.triggered.connect(lambda: self._choose(entry))
        return action

    def _choose(self, entry: LibraryEntry) -> None:
        if entry.generator is not None:
            self.library.open_generator(self, entry.generator)
        else:
            self.library.choose(entry)

    def generate(self) -> None:
        """Open the sliders of the generators."""
        self.library.open_generator(self, GENERATORS["gaussian"])

    def _show_mask(self, mask: Mask) -> None:
        preset, title = preset_of(mask), shown_title(mask, self._workspace.mask_title)
        # A name is no text with mnemonics.
        self.setText(title.replace("&", "&&"))
        self.setToolTip(f"{preset.teaches if preset is not None else title}\n\n{_TOOLTIP}")

    def minimumSizeHint(self) -> QSize:
        return QSize(1, super().minimumSizeHint().height())

    def initStyleOption(self, option: QStyleOptionButton) -> None:
        super().initStyleOption(option)
        option.features |= QStyleOptionButton.ButtonFeature.HasMenu
        room = self.width() - _AROUND_NAME
        option.text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room)
