"""The mask panel: presets, size, the table of cells, and how the mask is applied."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from engine.mask.text import STYLES, format_mask
from gui.explore.mask.apply_controls import ApplyControls
from gui.explore.mask.facts import MaskFacts
from gui.explore.mask.grid import MaskGrid
from gui.explore.mask.mask_controls import Brush, SizeControls, TransformButtons
from gui.explore.mask.mask_model import MaskModel
from gui.explore.mask.preset_button import PresetButton
from gui.explore.mask.text_dialog import MaskTextDialog
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID
from gui.widgets.panel_parts import column, menu_icon_button, row, scrolled


class MaskPanel(QWidget):
    """Everything that changes the mask and the border; each change of the mask can be undone."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.model = MaskModel(workspace, self)
        self.presets = PresetButton(workspace)
        self.more_button = self._more_button()
        self.size_controls = SizeControls(workspace)
        self.brush = Brush()
        self.grid = MaskGrid(self.model, self.brush)
        self.facts = MaskFacts(workspace)
        self.transforms = TransformButtons(workspace, self.brush)
        self.apply_controls = ApplyControls(workspace)
        content = QWidget()
        content.setLayout(
            column(
                row((self.presets, 1), self.more_button),
                self.size_controls,
                (self.grid, 1),
                self.facts,
                self.transforms,
                self.apply_controls,
                0,
                margins=(GRID, GRID, GRID, GRID),
            )
        )
        self.setLayout(column(scrolled(content)))
        self.model.edit_refused.connect(self.facts.show_refusal)
        for field in (*self.size_controls.fields, self.brush.field, *self.apply_controls.fields):
            field.refused.connect(self.facts.show_refusal)
        self.setAccessibleName("Mask panel")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.facts.show_refusal("")
        super().keyPressEvent(event)

    def edit_as_text(self) -> MaskTextDialog:
        """Open the mask as text in a dialog that does not block the window."""
        dialog = MaskTextDialog(self._workspace.mask, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.mask_accepted.connect(lambda mask: self._workspace.set_mask(mask, "Mask as text", is_new=True))
        dialog.open()
        return dialog

    def _copy_as(self, style: str) -> None:
        QGuiApplication.clipboard().setText(format_mask(self._workspace.mask, style))

    def _more_button(self) -> QToolButton:
        button = menu_icon_button(
            "dots-horizontal", "More", "The mask as text, in the clipboard and in files."
        )
        menu = QMenu(button)
        menu.addAction("Generate…").triggered.connect(lambda: self.presets.generate())
        menu.addAction("Mask as text…").triggered.connect(self.edit_as_text)
        copy = menu.addMenu("Copy as")
        for style, form in STYLES.items():
            copy.addAction(form.title).triggered.connect(partial(self._copy_as, style))
        paste = menu.addAction("Paste as whole mask\tCtrl+Shift+V")
        paste.triggered.connect(lambda: self.grid.paste(whole=True))
        self.programs = menu.addMenu("As another program would")
        self.programs.setToolTipsVisible(True)
        menu.addSeparator()
        self.load, self.save = menu.addAction("Open mask…"), menu.addAction("Save mask…")
        button.setMenu(menu)
        return button
