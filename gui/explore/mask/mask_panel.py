"""The mask panel: presets, size, cells, how the mask is applied; the choice of an operation above it."""

from collections.abc import Callable
from importlib import import_module

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase, QKeyEvent, QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QStackedWidget,
    QWidget,
)

from engine.errors import MaskError
from engine.mask.analysis import describe, weights_sum
from engine.mask.mask import Mask
from engine.mask.text import STYLES, format_mask, parse_mask
from gui.explore.jobs import operation_of
from gui.explore.mask.grid import MaskGrid
from gui.explore.mask.library import PresetButton
from gui.explore.mask.mask_controls import ApplyControls, Brush, SizeControls, TransformButtons
from gui.explore.mask.mask_model import MaskModel
from gui.explore.preview_controller import Display
from gui.explore.state import COMBINE
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.page.slot import Slot
from gui.style.metrics import GRID, HALF_GRID, follow
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import (
    NarrowBox,
    VerdictLabel,
    boxed,
    column,
    fill_box,
    folding_row,
    label_for,
    menu_icon_button,
    named,
    row,
    scrolled,
)

_LINES, _LINES_OF_REFUSAL = 2, 9
# The rank of 63 x 63 takes 2 to 190 ms, by load: Analysis finds it in another thread.
_LARGEST_DESCRIBED = 15 * 15


class MaskFacts(ElidedLabel):
    """Two lines of facts, so that nothing moves while a person types; or a refusal, in all its lines."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(_LINES, most=_LINES_OF_REFUSAL, small=True, name="About the mask")
        self._workspace = workspace
        self._is_refusal = False
        workspace.mask_changed.connect(self.show_facts)
        workspace.settings_changed.connect(lambda: self.show_refusal(""))
        self.show_facts()

    def show_facts(self) -> None:
        mask = self._workspace.mask
        self._is_refusal = False
        self.set_most(_LINES)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        if mask.taps <= _LARGEST_DESCRIBED:
            facts = describe(mask)
            self.setText(" ".join(f"{fact.short}." for fact in facts[:3]))
            self.setToolTip("\n".join(fact.sentence for fact in facts))
        else:
            self.setText(f"{weights_sum(mask)}. Its rank is in Analysis.")

    def show_refusal(self, sentence: str) -> None:
        """Say why an edit was not made, until the mask or its border changes; empty: describe the mask."""
        if sentence:
            self._is_refusal = True
            self.set_most(_LINES_OF_REFUSAL)
            self.setForegroundRole(QPalette.ColorRole.BrightText)
            self.setText(sentence)
        elif self._is_refusal:
            self.show_facts()


_HINT = (
    "Rows of numbers with spaces, commas or tabs, a new line or ; after each row; fractions (1/9), a divisor "
    "after the mask ( /16); a generator (gaussian:9:1.5); a table of NumPy, C, MATLAB, ImageMagick or JSON."
)
_STYLE_TIP = "The form in which the mask is written here. Every form can be read, whichever is chosen."


class MaskTextDialog(QDialog):
    """Edit the mask as text; the line under the text says what is read, or why it is not a mask."""

    mask_accepted = Signal(object)  # the Mask that was written

    def __init__(self, mask: Mask, parent: QWidget) -> None:
        super().__init__(parent)
        self._shown = mask
        self._read: Mask | None = mask
        self.setWindowTitle("Mask as text")
        self.editor = QPlainTextEdit(tabChangesFocus=True, lineWrapMode=QPlainTextEdit.LineWrapMode.NoWrap)
        self.editor.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.editor.setAccessibleName("Mask as text")
        self.style_box = named(QComboBox(), "Write as", _STYLE_TIP)
        fill_box(self.style_box, {style: form.title for style, form in STYLES.items()}, "rows")
        hint, self.verdict = QLabel(_HINT, wordWrap=True), VerdictLabel()
        self.verdict.setMinimumHeight(3 * self.fontMetrics().lineSpacing())
        self.verdict.setAlignment(Qt.AlignmentFlag.AlignTop)
        which = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(which.Ok | which.Cancel)
        self._ok = self.buttons.button(which.Ok)
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
        self._read = None
        try:
            self._read = mask = parse_mask(self.editor.toPlainText())
            self.verdict.say(f"{mask.rows} × {mask.columns} cells, sum {mask.total:.6g}.")
        except MaskError as error:
            self.verdict.say(str(error), is_bad=True)
        self._ok.setEnabled(self._read is not None)


_MORE_TIP = "The mask as text, in the clipboard and in files."


class MaskPanel(QWidget):
    """Everything that changes the mask and the border; each change of the mask can be undone."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(accessibleName="Mask panel")
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
        head, rest = row((self.presets, 1), self.more_button), (self.transforms, self.apply_controls)
        parts = head, self.size_controls, (self.grid, 1), self.facts, *rest
        content = boxed(column(*parts, margins=(GRID, GRID, GRID, GRID)))
        self.setLayout(column(scrolled(content)))
        self.model.edit_refused.connect(self.facts.show_refusal)
        for field in (*self.size_controls.fields, self.brush.field, *self.apply_controls.fields):
            field.refused.connect(self.facts.show_refusal)

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

    def fill_menu(self, actions: Actions) -> None:
        """Put into the menu what is done with the mask as a whole."""
        menu = QMenu(self.more_button)
        menu.addActions([actions["generate_mask"], actions["mask_as_text"]])
        self.programs = menu.addMenu("As another program would")
        self.programs.setToolTipsVisible(True)
        menu.addActions([actions["load_mask"], actions["save_mask"]])
        self.more_button.setMenu(menu)


_OPERATION_TIP = "What is done with the picture: filtered with the mask, or something else."
_ADD_TIP = "Add a step: what follows works on the result of this one. Ready chains are there too."
_COMBINE_TIP = "Two results of the chain become one: sum, difference, magnitude, maximum or blend."
_CONVOLUTION = "Each pixel becomes the sum of its neighbours times the weights of the mask."


class OperationChoice(QWidget):
    """The choice of an operation above the mask panel, or above the panel of the operation."""

    patch_wanted = Signal()  # the person wants to choose the file of a patch

    def __init__(
        self, mask_panel: QWidget, workspace: Workspace, display: Display, make_steps: Callable[[], QWidget]
    ) -> None:
        super().__init__()
        self._workspace, self._display = workspace, display
        self._panels: dict[str, QWidget] = {"": mask_panel}
        self.box = NarrowBox("Operation", "", 12)
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
        self.box.chosen.connect(workspace.choose)
        follow(self._show, workspace.operation_changed)

    def fill(self) -> None:
        """List the operations other than convolution, after the first paint."""
        from engine.work.operations.contract import OPERATIONS

        self._add("Combine two results", COMBINE, _COMBINE_TIP)
        for operation in OPERATIONS.values():
            self._add(operation.title, operation.key, operation.teaches)
        self._show()

    def panel(self, key: str) -> QWidget:
        """Return the panel of an operation, made when it is first needed."""
        if key not in self._panels:
            if key == COMBINE:
                made = import_module("gui.explore.chain.chain_list").CombinePanel(self._workspace)
            else:
                panel = import_module("gui.explore.mask.operation_panel").OperationPanel
                made = panel(operation_of(key), self._workspace, self._display, self.patch_wanted.emit)
            self._panels[key] = made
            self.stack.addWidget(made)
        return self._panels[key]

    def _add(self, title: str, key: str, tooltip: str) -> None:
        self.box.addItem(title, key)
        self.box.setItemData(self.box.count() - 1, tooltip, Qt.ItemDataRole.ToolTipRole)

    def _show(self) -> None:
        at = max(0, self.box.findData(self._workspace.operation))
        self.box.setCurrentIndex(at)
        self.box.setToolTip(f"{_OPERATION_TIP}\n\n{self.box.itemData(at, Qt.ItemDataRole.ToolTipRole)}")
        self.stack.setCurrentWidget(self.panel(self._workspace.operation))
