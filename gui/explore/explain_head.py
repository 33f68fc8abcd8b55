"""Beside the tab of Explain: the kernel that its segments speak of, and a button for more room."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from gui.explore.selection import Selection
from gui.style.metrics import HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import icon_button, row

_TIP = (
    "Select another kernel in the list of kernels, also one that cannot run here, or a run: every panel "
    "explains the one that is selected."
)


class ExplainHead(QWidget):
    """Names what is explained. `room` is checked while Explain has the whole page."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self.kernel = ElidedLabel()
        self.kernel.setForegroundRole(QPalette.ColorRole.WindowText)
        self.kernel.setAccessibleName("Selected kernel")
        self.room = icon_button("arrow-expand", "Large panel", "Explain over the picture, and back")
        self.room.setCheckable(True)
        head = row((self.kernel, 1), self.room, spacing=HALF_GRID)
        head.setAlignment(self.kernel, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(head)
        selection.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        known, block = self._selection.known, self._selection.block
        title = known.title if known else ""
        self.kernel.setText(f"{title}, block {block}" if block else title)
        self.kernel.setToolTip(f"{self.kernel.text()}\n\n{_TIP}".strip())
