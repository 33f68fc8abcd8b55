"""The mask panel: presets, size, the table of cells, and how the mask is applied."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QScrollArea, QToolButton, QVBoxLayout, QWidget

from engine.mask.mask import Mask
from engine.mask.text import format_mask
from gui.explore.mask.border_controls import BorderControls
from gui.explore.mask.facts import MaskFacts
from gui.explore.mask.grid import MaskGrid
from gui.explore.mask.mask_model import MaskModel
from gui.explore.mask.preset_button import PresetButton
from gui.explore.mask.scale_controls import ScaleControls
from gui.explore.mask.size_controls import SizeControls
from gui.explore.mask.text_dialog import STYLE_TITLES, MaskTextDialog
from gui.explore.mask.transform_buttons import TransformButtons
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID
from gui.widgets.panel_parts import icon_button

_WIDTH = 42 * GRID
_HEIGHT = 78 * GRID


class MaskPanel(QWidget):
    """Everything that changes the mask and the border; each change of the mask is a step of the undo stack.

    Signals
    -------
    load_requested(), save_requested()
        The person wants to choose a mask file.
    """

    load_requested = Signal()
    save_requested = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.model = MaskModel(workspace, self)
        self.presets = PresetButton(workspace)
        self.more_button = self._more_button()
        self.size_controls = SizeControls(workspace)
        self.grid = MaskGrid(self.model)
        self.facts = MaskFacts(workspace)
        self.transforms = TransformButtons(workspace)
        self.border = BorderControls(workspace)
        self.scale = ScaleControls(workspace)
        self._lay_out()
        for source in (
            self.size_controls.refused,
            self.model.edit_refused,
            self.border.refused,
            self.scale.refused,
        ):
            source.connect(self.facts.show_refusal)
        for controls in (self.size_controls, self.border, self.scale):
            controls.typing.connect(self.facts.forget_refusal)
        self.setAccessibleName("Mask panel")

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH, _HEIGHT)

    def edit_as_text(self) -> MaskTextDialog:
        """Open the mask as text in a dialog that does not block the window."""
        dialog = MaskTextDialog(self._workspace.mask, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.mask_accepted.connect(self._take_text)
        dialog.open()
        return dialog

    def copy_as(self, style: str) -> None:
        """Copy the whole mask in a style of `engine.mask.text`."""
        QGuiApplication.clipboard().setText(format_mask(self._workspace.mask, style))

    def _take_text(self, mask: Mask) -> None:
        self._workspace.set_mask(mask, "Mask as text")

    def _lay_out(self) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(GRID, GRID, GRID, GRID)
        column.setSpacing(GRID)
        top = QHBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(self.presets, 1)
        top.addWidget(self.more_button)
        column.addLayout(top)
        column.addWidget(self.size_controls)
        column.addWidget(self.grid, 1)
        column.addWidget(self.facts)
        column.addWidget(self.transforms)
        column.addWidget(self.border)
        column.addWidget(self.scale)
        column.addStretch(0)
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(content)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)
        # Nothing is cut at the side: the scroll area only scrolls up and down.
        self.setMinimumWidth(
            content.minimumSizeHint().width() + scroll.verticalScrollBar().sizeHint().width()
        )

    def _more_button(self) -> QToolButton:
        button = icon_button("dots-horizontal", "More", "The mask as text, in the clipboard and in files.")
        menu = QMenu(button)
        menu.addAction("Edit as text…").triggered.connect(self.edit_as_text)
        copy = menu.addMenu("Copy as")
        for key, title in STYLE_TITLES.items():
            copy.addAction(title).triggered.connect(lambda _=False, key=key: self.copy_as(key))
        menu.addAction("Paste as whole mask\tCtrl+Shift+V").triggered.connect(lambda: self.grid.paste_whole())
        menu.addSeparator()
        menu.addAction("Load mask…").triggered.connect(self.load_requested)
        menu.addAction("Save mask…").triggered.connect(self.save_requested)
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        # The little arrow of a menu would lie on the dots.
        button.setStyleSheet("QToolButton::menu-indicator { image: none; }")
        return button
