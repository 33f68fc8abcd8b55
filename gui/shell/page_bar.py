"""The thin bar on the left that switches pages."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QSizePolicy, QToolButton, QVBoxLayout

from gui.page.contract import PageEntry
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID


class PageBar(QFrame):
    """One button per page, icon over word."""

    chosen = Signal(int)  # position of the page

    def __init__(self, pages: list[PageEntry]) -> None:
        super().__init__()
        self._group = QButtonGroup(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(HALF_GRID, GRID, HALF_GRID, GRID)
        column.setSpacing(HALF_GRID)
        for number, page in enumerate(pages):
            button = QToolButton(autoRaise=True)
            button.setCheckable(True)
            button.setText(page.title)
            button.setIcon(icon(page.icon))
            button.setIconSize(QSize(3 * GRID, 3 * GRID))
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            button.setToolTip(f"{page.tip} (Alt+{number + 1})")
            button.setAccessibleName(f"Page {page.title}")
            self._group.addButton(button, number)
            column.addWidget(button)
        column.addStretch(1)
        self._group.idClicked.connect(self.chosen)
        self.show_chosen(0)

    def show_chosen(self, number: int) -> None:
        """Mark the visible page."""
        self._group.button(number).setChecked(True)
