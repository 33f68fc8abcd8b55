"""The mask panel: presets, size, the table of cells, and how the mask is applied."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication, QKeyEvent, QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QWidget,
)

from engine.errors import MaskError
from engine.mask.analysis import Fact, describe, weights_sum
from engine.mask.mask import Mask
from engine.mask.text import STYLES, format_mask, parse_mask
from gui.explore.mask.grid import MaskGrid
from gui.explore.mask.library import PresetButton
from gui.explore.mask.mask_controls import ApplyControls, Brush, SizeControls, TransformButtons
from gui.explore.mask.mask_model import MaskModel
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.page.jobs import Background
from gui.style.metrics import GRID
from gui.style.theme import current_theme
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import column, fill_box, label_for, menu_icon_button, row, scrolled

_LINES, _LINES_OF_REFUSAL = 2, 9
# Larger masks are described in another thread: the rank of 63 x 63 takes 2 to 190 ms, by load.
_LARGEST_AT_ONCE = 15 * 15


class MaskFacts(ElidedLabel):
    """Two lines of facts, more of them in the tooltip; or a refusal, in as many lines as it takes.

    With facts its height does not change, so that nothing in the panel moves while a person types.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(_LINES, most=_LINES_OF_REFUSAL, small=True)
        self._workspace, self._background = workspace, Background(self)
        self._is_refusal = False
        self.setAccessibleName("About the mask")
        workspace.mask_changed.connect(self.show_facts)
        workspace.settings_changed.connect(lambda: self.show_refusal(""))
        self.show_facts()

    def show_facts(self) -> None:
        """Describe the mask."""
        mask = self._workspace.mask
        self._is_refusal = False
        self.set_most(_LINES)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        if mask.taps <= _LARGEST_AT_ONCE:
            self._show(mask, *_texts(describe(mask)))
        else:
            self._show(mask, weights_sum(mask) + ".")
            shown = partial(self._show, mask)
            self._background.do(lambda: _texts(describe(mask)), lambda texts: shown(*texts), lambda _: None)

    def show_refusal(self, sentence: str) -> None:
        """Say why an edit was not made, until the mask or its border changes; empty: describe the mask."""
        if not sentence:
            if self._is_refusal:
                self.show_facts()
            return
        self._is_refusal = True
        self.set_most(_LINES_OF_REFUSAL)
        self.setForegroundRole(QPalette.ColorRole.BrightText)
        self.setText(sentence)

    def _show(self, mask: Mask, text: str, tooltip: str = "") -> None:
        if mask is not self._workspace.mask or self._is_refusal:
            return
        self.setText(text)
        self.setToolTip(tooltip or text)


def _texts(facts: Sequence[Fact]) -> tuple[str, str]:
    """Return the first facts in short, and all of them whole."""
    return " ".join(f"{fact.short}." for fact in facts[:3]), "\n".join(fact.sentence for fact in facts)


_HINT = (
    "Rows of numbers with spaces, commas or tabs, a new line or ; after each row; fractions (1/9), a divisor "
    "after the mask ( /16); a generator (gaussian:9:1.5); a table of NumPy, C, MATLAB, ImageMagick or JSON."
)


class MaskTextDialog(QDialog):
    """Edit the mask as text; the line under the text says what is read, or why it is not a mask."""

    # The Mask that was written.
    mask_accepted = Signal(object)

    def __init__(self, mask: Mask, parent: QWidget) -> None:
        super().__init__(parent)
        self._shown = mask
        self._read: Mask | None = mask
        self.setWindowTitle("Mask as text")
        self.editor = QPlainTextEdit()
        self.editor.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.editor.setTabChangesFocus(True)
        self.editor.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.editor.setAccessibleName("Mask as text")
        self.style_box = QComboBox()
        self.style_box.setAccessibleName("Write as")
        fill_box(self.style_box, {style: form.title for style, form in STYLES.items()}, "rows")
        self.style_box.setToolTip(
            "The form in which the mask is written here. Every form can be read, whichever is chosen."
        )
        hint, self.verdict = QLabel(_HINT), QLabel()
        for label in (hint, self.verdict):
            label.setWordWrap(True)
        self.verdict.setMinimumHeight(3 * self.fontMetrics().lineSpacing())
        self.verdict.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self._ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self._ok.setText("Use this mask")
        top = row(label_for("Write as", self.style_box), self.style_box, 1)
        parts = (hint, top, (self.editor, 1), self.verdict, self.buttons)
        self.setLayout(column(*parts, margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)))
        self.style_box.activated.connect(self._write)
        self.editor.textChanged.connect(self._check)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._write()
        # What is pasted takes the place of the mask at once.
        self.editor.selectAll()
        self.editor.setFocus()
        self.resize(60 * GRID, 48 * GRID)

    def accept(self) -> None:
        if self._read is not None:
            self.mask_accepted.emit(self._read)
            super().accept()

    def _write(self) -> None:
        self.editor.setPlainText(format_mask(self._read or self._shown, self.style_box.currentData()))

    def _check(self) -> None:
        try:
            self._read = mask = parse_mask(self.editor.toPlainText())
            verdict, colour = (
                f"{mask.rows} × {mask.columns} cells, sum {mask.total:.6g}.",
                current_theme().muted,
            )
        except MaskError as error:
            self._read = None
            verdict, colour = str(error), current_theme().error
        self.verdict.setText(verdict)
        self.verdict.setStyleSheet(f"color: {colour}")
        self._ok.setEnabled(self._read is not None)


_MORE_TIP = "The mask as text, in the clipboard and in files."


class MaskPanel(QWidget):
    """Everything that changes the mask and the border; each change of the mask can be undone."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.model = MaskModel(workspace, self)
        self.presets = PresetButton(workspace)
        self.more_button = menu_icon_button("dots-horizontal", "More", _MORE_TIP)
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

    def fill_menu(self, actions: Actions) -> None:
        """Put into the menu what is done with the mask as a whole."""
        menu = QMenu(self.more_button)
        menu.addActions([actions["generate_mask"], actions["mask_as_text"]])
        copy = menu.addMenu("Copy as")
        for style, form in STYLES.items():
            copy.addAction(form.title).triggered.connect(partial(self._copy_as, style))
        paste = menu.addAction("Paste as whole mask\tCtrl+Shift+V")
        paste.triggered.connect(lambda: self.grid.paste(whole=True))
        self.programs = menu.addMenu("As another program would")
        self.programs.setToolTipsVisible(True)
        menu.addSeparator()
        menu.addActions([actions["load_mask"], actions["save_mask"]])
        self.more_button.setMenu(menu)
