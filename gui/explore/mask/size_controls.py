"""Rows and columns of the mask."""

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QWidget

from engine.errors import MaskError
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.number_box import NumberBox
from gui.widgets.panel_parts import folding_row, icon_button, label_for, row

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
        rows_label, columns_label = label_for("Rows", self.rows_box), label_for("Columns", self.columns_box)
        rows = row(rows_label, self.rows_box, 1, spacing=HALF_GRID)
        columns = row(columns_label, self.columns_box, self.square_button, 1, spacing=HALF_GRID)
        self.setLayout(folding_row(rows, (columns, 1), spacing=HALF_GRID))
        self.rows_box.valueChanged.connect(lambda: self._set_rows(self.rows_box.value()))
        self.columns_box.valueChanged.connect(lambda: self._set_columns(self.columns_box.value()))
        self.square_button.toggled.connect(self._toggle_lock)
        workspace.mask_changed.connect(self._show_mask)
        self._show_mask(workspace.mask)

    def _set_rows(self, rows: int) -> None:
        self._resize(rows, rows if self.square_button.isChecked() else self._workspace.mask.columns)

    def _set_columns(self, columns: int) -> None:
        self._resize(columns if self.square_button.isChecked() else self._workspace.mask.rows, columns)

    def _toggle_lock(self, locked: bool) -> None:
        if locked:
            side = max(self._workspace.mask.shape)
            self._resize(side, side)

    def _resize(self, rows: int, columns: int) -> None:
        mask = self._workspace.mask
        if (rows, columns) == mask.shape:
            return
        try:
            resized = mask.resized(rows, columns)
        except MaskError as error:
            self._show_mask(mask)
            self.rows_box.refused.emit(str(error))
        else:
            self._workspace.set_mask(resized, f"Resize to {rows} × {columns}")

    def _show_mask(self, mask: Mask) -> None:
        rows, columns, square = map(QSignalBlocker, (self.rows_box, self.columns_box, self.square_button))
        with rows, columns, square:
            self.rows_box.setValue(mask.rows)
            self.columns_box.setValue(mask.columns)
            if mask.rows != mask.columns:
                self.square_button.setChecked(False)


def _side_box(name: str) -> NumberBox:
    box = NumberBox(name, -_LARGEST_TYPED, _LARGEST_TYPED, f"a whole number from 1 to {MAX_LINE}")
    box.setSingleStep(2)
    box.setAlignment(Qt.AlignmentFlag.AlignRight)
    box.setFixedWidth(7 * GRID)
    box.setToolTip(_TOOLTIP.format(name))
    return box
