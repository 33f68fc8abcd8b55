"""What changes the mask as a whole: its sides, turning, the brush; border, divisor, offset."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QToolButton, QWidget

from engine.errors import MaskError
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask
from engine.mask.typed import TypedWeights
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, follow
from gui.widgets.fields import NumberBox, NumberField
from gui.widgets.panel_parts import NarrowBox, column, folding_row, icon_button, label_for, row

_TOOLTIP = (
    f"{{}} of the mask, 1 to {MAX_SIDE}, or to {MAX_LINE} in a mask of one row or one column.\n"
    "The arrows step by 2, so that the mask keeps its middle; type any number.\n"
    "Cells are added or removed around the anchor; new ones are 0."
)
# Sides that no mask can have can be typed, so that the mask itself says why they are refused.
_LARGEST_TYPED = 99_999


class SizeControls(QWidget):
    """Two spin boxes and a lock that keeps the mask square."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.fields = self.rows_box, self.columns_box = _side_box("Rows"), _side_box("Columns")
        self.square_button = icon_button(
            "lock-outline", "Keep square", "Keep square: rows and columns change together."
        )
        self.square_button.setCheckable(True)
        self.square_button.setChecked(workspace.mask.rows == workspace.mask.columns)
        rows = row(label_for("Rows", self.rows_box), self.rows_box, 1, spacing=HALF_GRID)
        second = label_for("Columns", self.columns_box), self.columns_box, self.square_button, 1
        columns = row(*second, spacing=HALF_GRID)
        self.setLayout(folding_row(rows, (columns, 1), spacing=HALF_GRID))
        for box in self.fields:
            box.valueChanged.connect(lambda _, box=box: self._take_side(box))
        self.square_button.toggled.connect(self._toggle_lock)
        follow(self._show_mask, workspace.mask_changed)

    def _take_side(self, box: NumberBox) -> None:
        is_square, side = self.square_button.isChecked(), box.value()
        self._resize(*(side if is_square or one is box else one.value() for one in self.fields))

    def _toggle_lock(self, locked: bool) -> None:
        if locked:
            self._resize(*[max(self._workspace.mask.shape)] * 2)

    def _resize(self, rows: int, columns: int) -> None:
        try:
            resized = self._workspace.mask.resized(rows, columns)
        except MaskError as error:
            self._show_mask()
            self.rows_box.refused.emit(str(error))
        else:
            self._workspace.set_mask(resized, f"Resize to {rows} × {columns}")

    def _show_mask(self) -> None:
        mask = self._workspace.mask
        self.rows_box.show_value(mask.rows)
        self.columns_box.show_value(mask.columns)
        if mask.rows != mask.columns:
            self.square_button.setChecked(False)


def _side_box(name: str) -> NumberBox:
    box = NumberBox(name, -_LARGEST_TYPED, _LARGEST_TYPED, f"a whole number from 1 to {MAX_LINE}")
    box.setSingleStep(2)
    box.setAlignment(Qt.AlignmentFlag.AlignRight)
    box.setFixedWidth(7 * GRID)
    box.setToolTip(_TOOLTIP.format(name))
    return box


_TIP = (
    "Brush: drag over cells to set them to the value beside this button; a stroke is one step to undo.\n"
    "Ctrl+click takes the value of a cell, Shift+drag selects as without the brush, Esc puts it away."
)


class Brush(QWidget):
    """A button, and the value that is painted, as it was typed."""

    switched = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.cell = "1"
        self.button = icon_button("brush", "Brush", _TIP)
        self.button.setCheckable(True)
        self.field = NumberField("Value of the brush")
        self.field.setFixedWidth(5 * GRID)
        self.field.setToolTip(_TIP)
        self.setLayout(row(self.button, self.field, spacing=HALF_GRID))
        self.field.hide()
        self.field.show_text(self.cell)
        self.field.entered_text.connect(self.take)
        self.button.toggled.connect(self.field.setVisible)
        self.button.toggled.connect(self.switched)

    @property
    def is_on(self) -> bool:
        """Whether dragging paints."""
        return self.button.isChecked()

    def take(self, cell: str) -> None:
        """Paint with another value from now on."""
        self.cell = cell
        self.field.show_text(cell)


# Icon, name, what it does, and how; the anchor moves with its cell.
_TRANSFORMS: tuple[tuple[str, str, str, Callable[[Mask], Mask]], ...] = (
    ("rotate-left", "Rotate left", "Turn the mask by 90°, counter-clockwise.", lambda mask: mask.rotated(1)),
    ("rotate-right", "Rotate right", "Turn the mask by 90°, clockwise.", lambda mask: mask.rotated(-1)),
    ("flip-horizontal", "Mirror left and right",
     "Exchange left and right. (The flip of a convolution is something else: a turn by 180°.)",
     lambda mask: mask.transposed().rotated(-1)),
    ("flip-vertical", "Mirror top and bottom", "Exchange top and bottom.",
     lambda mask: mask.transposed().rotated(1)),
    ("arrow-top-left-bottom-right", "Transpose", "Exchange rows and columns: Sobel x becomes Sobel y.",
     lambda mask: mask.transposed()),
)  # fmt: skip
_CENTRE = (
    "image-filter-center-focus", "Anchor to the middle",
    "The anchor (framed) is the cell that lies on the pixel whose result is computed.\n"
    "Another cell becomes the anchor through its context menu.",
    lambda mask: mask.with_anchor(None),
)  # fmt: skip


class TransformButtons(QWidget):
    """A row of small buttons, with the brush among them."""

    def __init__(self, workspace: Workspace, brush: QWidget) -> None:
        super().__init__()
        self._workspace = workspace
        self.buttons = {entry[1]: self._button(*entry) for entry in _TRANSFORMS}
        self.centre_button = self._button(*_CENTRE)
        self.setLayout(row(*self.buttons.values(), brush, 1, self.centre_button, spacing=HALF_GRID))
        follow(self._show_mask, workspace.mask_changed)

    def _button(self, look: str, name: str, sentence: str, change: Callable[[Mask], Mask]) -> QToolButton:
        button = icon_button(look, name, f"{name}: {sentence}")
        button.clicked.connect(lambda: self._workspace.set_mask(change(self._workspace.mask), name))
        return button

    def _show_mask(self) -> None:
        mask = self._workspace.mask
        self.centre_button.setEnabled(mask.anchor != (mask.rows // 2, mask.columns // 2))


_BORDER_TOOLTIP = "The border says what the mask reads where it reaches over the picture's edge."
_VALUE_TOOLTIP = (
    "The value of every cell outside the picture, in the picture's own numbers (255 is white at 8 bit)."
)
_FLIP_TOOLTIP = (
    "Off: correlation, the mask is laid on the picture as you see it (ImageJ, GIMP, OpenCV).\n"
    "On: convolution, the mask is first rotated by 180° (SciPy's convolve, signal processing).\n"
    "Masks that are unchanged by the turn give the same picture either way."
)
_NORMALISE_TOOLTIP = (
    "Divide the mask by the sum of its weights when it is applied: even areas keep their brightness.\n"
    "The cells keep the numbers you typed."
)
_NO_SUM = "The weights add up to 0, and nothing can be divided by 0. Use the mask as it is."
_DIVIDE_TOOLTIP = (
    "Every cell is divided by this number: 16 for a mask written as 1 2 1; 2 4 2; 1 2 1.\n"
    "The cells keep what you typed. Empty: they are the weights."
)
_OFFSET_TOOLTIP = (
    "Added to every result, in the picture's own numbers: 128 puts the zero of an 8-bit edge picture in the "
    "middle."
)
_OFFSET_MERGE_KEY = MAX_LINE * MAX_LINE  # beyond the merge keys of the cells


class ApplyControls(QWidget):
    """The border with its value, two check boxes and two fields."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.border_box = NarrowBox("Border", "", 6, {one: one.value.capitalize() for one in Border})
        for at, border in enumerate(Border):
            self.border_box.setItemData(at, border.sentence, Qt.ItemDataRole.ToolTipRole)
        self.value_field = NumberField("Border value")
        self.value_field.setToolTip(_VALUE_TOOLTIP)
        self.value_field.setFixedWidth(7 * GRID)
        self._value_label = label_for("value", self.value_field)
        self.flip_box = QCheckBox("Flip (convolution)")
        self.flip_box.setToolTip(_FLIP_TOOLTIP)
        self.normalise_box = QCheckBox("Normalise")
        self.divide_field = NumberField("Divide by", "The mask was not divided", may_be_empty=True, sign="/")
        self.divide_field.setToolTip(_DIVIDE_TOOLTIP)
        self.divide_field.setPlaceholderText("e.g. 16")
        self.offset_field = NumberField("Offset")
        self.offset_field.setToolTip(_OFFSET_TOOLTIP)
        self.fields = (self.value_field, self.divide_field, self.offset_field)
        borders = row(label_for("Border", self.border_box), (self.border_box, 1))
        value = row(self._value_label, self.value_field)
        divide = row(label_for("Divide by", self.divide_field), (self.divide_field, 1))
        offset = row(label_for("Add offset", self.offset_field), (self.offset_field, 1))
        switches = folding_row(self.flip_box, (self.normalise_box, 1), spacing=2 * GRID)
        self.setLayout(
            column(folding_row((borders, 1), value), switches, folding_row((divide, 1), (offset, 1)))
        )
        self.border_box.chosen.connect(lambda border: workspace.change(border=Border(border)))
        self.value_field.entered.connect(lambda value: workspace.change(cval=value))
        self.flip_box.toggled.connect(lambda on: workspace.change(flip=on))
        self.normalise_box.toggled.connect(lambda on: workspace.change(normalise=on))
        self.divide_field.entered_text.connect(self._divide)
        self.offset_field.entered.connect(self._set_offset)
        follow(self._show_state, workspace.mask_changed, workspace.settings_changed)

    def _divide(self, divisor: str) -> None:
        step = f"Divide by {divisor}" if divisor else "No divisor"
        cells, by = self._workspace.mask.typed.cells, "" if divisor == "1" else divisor
        self._edit(self.divide_field, lambda mask: mask.with_typed(TypedWeights(cells, by)), step)

    def _set_offset(self, offset: float) -> None:
        step = f"Offset {offset:g}"
        self._edit(self.offset_field, lambda mask: mask.with_offset(offset), step, _OFFSET_MERGE_KEY)

    def _edit(
        self, field: NumberField, edit: Callable[[Mask], Mask], step: str, merge_key: int | None = None
    ) -> None:
        try:
            mask = edit(self._workspace.mask)
        except MaskError as error:
            field.refused.emit(str(error))
        else:
            self._workspace.set_mask(mask, step, merge_key)

    def _show_state(self) -> None:
        settings = self._workspace.settings
        border, can_normalise = settings.border, self._workspace.step.can_normalise
        self.border_box.setCurrentIndex(list(Border).index(border))
        self.border_box.setToolTip(f"{border.sentence}\n{_BORDER_TOOLTIP}")
        for widget in (self.value_field, self._value_label):
            widget.setVisible(border.takes_value)
        self.value_field.show_number(settings.cval)
        self.flip_box.setChecked(settings.flip)
        self.normalise_box.setChecked(settings.normalise)
        self.normalise_box.setEnabled(can_normalise)
        self.normalise_box.setToolTip(_NORMALISE_TOOLTIP if can_normalise else _NO_SUM)
        more = self._workspace.mask.more_than_weights
        self.divide_field.show_text(more.divisor if more is not None else "")
        self.offset_field.show_number(self._workspace.mask.offset)
