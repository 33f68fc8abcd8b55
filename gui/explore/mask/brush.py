"""The brush: while it is on, dragging over the cells of the mask sets them to its value."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.explore.mask.number_field import NumberField
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import icon_button, row

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
        self.field.setMinimumWidth(5 * GRID)
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

    def put_away(self) -> None:
        """Let dragging select again."""
        self.button.setChecked(False)
