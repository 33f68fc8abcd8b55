"""Rows and columns of the mask."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from engine.errors import MaskError
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import icon_button
from gui.widgets.whole_number_box import WholeNumberBox

_TOOLTIP = (
    f"{{}} of the mask, 1 to {MAX_SIDE}, or to {MAX_LINE} in a mask of one row or one column.\n"
    "The arrows step by 2, so that the mask keeps its middle; type any number.\n"
    "Cells are added or taken away around the anchor; new ones are 0."
)

# Sides that no mask can have can be typed, so that they are refused in the mask's own words.
_LARGEST_TYPED = 99_999


class SizeControls(QWidget):
    """Two spin boxes and a lock that keeps the mask square.

    Signals
    -------
    refused(str)
        A mask cannot have this size.
    typing()
        The person writes another size.
    """

    refused = Signal(str)
    typing = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.rows_box = _side_box("Rows")
        self.columns_box = _side_box("Columns")
        self.square_button = icon_button(
            "lock-outline", "Keep square", "Keep square: rows and columns change together."
        )
        self.square_button.setCheckable(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(HALF_GRID)
        for text, box in (("Rows", self.rows_box), ("Columns", self.columns_box)):
            label = QLabel(text)
            label.setBuddy(box)
            row.addWidget(label)
            row.addWidget(box)
        row.addWidget(self.square_button)
        row.addStretch(1)
        self.square_button.setChecked(workspace.mask.rows == workspace.mask.columns)
        self.rows_box.valueChanged.connect(self._rows_changed)
        self.columns_box.valueChanged.connect(self._columns_changed)
        for box in (self.rows_box, self.columns_box):
            box.refused.connect(self.refused)
            box.typing.connect(self.typing)
        self.square_button.toggled.connect(self._lock_toggled)
        workspace.mask_changed.connect(self._show_mask)
        self._show_mask(workspace.mask)

    def _rows_changed(self, rows: int) -> None:
        columns = rows if self.square_button.isChecked() else self._workspace.mask.columns
        self._resize(rows, columns)

    def _columns_changed(self, columns: int) -> None:
        rows = columns if self.square_button.isChecked() else self._workspace.mask.rows
        self._resize(rows, columns)

    def _lock_toggled(self, locked: bool) -> None:
        mask = self._workspace.mask
        if locked and mask.rows != mask.columns:
            side = max(mask.shape)
            self._resize(side, side)

    def _resize(self, rows: int, columns: int) -> None:
        mask = self._workspace.mask
        if (rows, columns) == mask.shape:
            return
        try:
            resized = mask.resized(rows, columns)
        except MaskError as error:
            self._show_mask(mask)
            self.refused.emit(str(error))
            return
        self._workspace.set_mask(resized, f"Resize to {rows} x {columns}")

    def _show_mask(self, mask: Mask) -> None:
        with (
            QSignalBlocker(self.rows_box),
            QSignalBlocker(self.columns_box),
            QSignalBlocker(self.square_button),
        ):
            self.rows_box.setValue(mask.rows)
            self.columns_box.setValue(mask.columns)
            if mask.rows != mask.columns:
                self.square_button.setChecked(False)


def _side_box(name: str) -> WholeNumberBox:
    box = WholeNumberBox(name, -_LARGEST_TYPED, _LARGEST_TYPED, f"a whole number from 1 to {MAX_LINE}")
    box.setSingleStep(2)
    box.setAlignment(Qt.AlignmentFlag.AlignRight)
    box.setFixedWidth(7 * GRID)
    box.setToolTip(_TOOLTIP.format(name))
    return box
