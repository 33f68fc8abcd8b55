"""How the mask is applied: the border; flipped, normalised, divided, with an offset."""

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QCheckBox, QWidget

from engine.errors import MaskError
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE, Mask
from engine.mask.typed import TypedWeights
from gui.explore.mask.weight_text import NumberField
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID
from gui.widgets.panel_parts import NarrowBox, column, folding_row, label_for, row

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
# Beyond the merge keys of the cells.
_OFFSET_MERGE_KEY = MAX_LINE * MAX_LINE


class ApplyControls(QWidget):
    """The border with its value, two check boxes and two fields."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.border_box = NarrowBox(6)
        self.border_box.setAccessibleName("Border")
        for position, border in enumerate(Border):
            self.border_box.addItem(border.value.capitalize(), border)
            self.border_box.setItemData(position, border.sentence, Qt.ItemDataRole.ToolTipRole)
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
        border_label = label_for("Border", self.border_box)
        divide_label = label_for("Divide by", self.divide_field)
        offset_label = label_for("Add offset", self.offset_field)
        self.setLayout(
            column(
                folding_row(
                    (row(border_label, (self.border_box, 1)), 1), row(self._value_label, self.value_field)
                ),
                folding_row(self.flip_box, (self.normalise_box, 1), spacing=2 * GRID),
                folding_row(
                    (row(divide_label, (self.divide_field, 1)), 1),
                    (row(offset_label, (self.offset_field, 1)), 1),
                ),
            )
        )
        self.border_box.activated.connect(
            lambda position: workspace.change(border=Border(self.border_box.itemData(position)))
        )
        self.value_field.entered.connect(lambda value: workspace.change(cval=value))
        self.flip_box.toggled.connect(lambda on: workspace.change(flip=on))
        self.normalise_box.toggled.connect(lambda on: workspace.change(normalise=on))
        self.divide_field.entered_text.connect(self._divide)
        self.offset_field.entered.connect(self._set_offset)
        workspace.mask_changed.connect(self._show_state)
        workspace.settings_changed.connect(self._show_state)
        self._show_state()

    def _divide(self, divisor: str) -> None:
        step = f"Divide by {divisor}" if divisor else "No divisor"
        divisor = "" if divisor == "1" else divisor
        self._edit(
            self.divide_field, lambda mask: mask.with_typed(TypedWeights(mask.typed.cells, divisor)), step
        )

    def _set_offset(self, offset: float) -> None:
        self._edit(
            self.offset_field, lambda mask: mask.with_offset(offset), f"Offset {offset:g}", _OFFSET_MERGE_KEY
        )

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
        border, can_normalise = settings.border, self._workspace.can_normalise
        self.border_box.setCurrentIndex(list(Border).index(border))
        self.border_box.setToolTip(f"{border.sentence}\n{_BORDER_TOOLTIP}")
        for widget in (self.value_field, self._value_label):
            widget.setVisible(border.takes_value)
        self.value_field.show_number(settings.cval)
        with QSignalBlocker(self.flip_box), QSignalBlocker(self.normalise_box):
            self.flip_box.setChecked(settings.flip)
            self.normalise_box.setChecked(settings.normalise)
        self.normalise_box.setEnabled(can_normalise)
        self.normalise_box.setToolTip(_NORMALISE_TOOLTIP if can_normalise else _NO_SUM)
        more = self._workspace.mask.more_than_weights
        self.divide_field.show_text(more.divisor if more is not None else "")
        self.offset_field.show_number(self._workspace.mask.offset)
