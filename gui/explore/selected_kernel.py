"""The line above what a panel explains: the selected kernel and its block."""

from PySide6.QtGui import QPalette

from gui.explore.selection import Selection
from gui.widgets.elided_label import ElidedLabel

_TIP = (
    "Select another kernel in the list of kernels, also one that cannot run here, or a run: every panel "
    "explains the one that is selected."
)


class SelectedKernel(ElidedLabel):
    """Names what is explained."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self.setForegroundRole(QPalette.ColorRole.WindowText)
        self.setAccessibleName("Selected kernel")
        selection.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        known, block = self._selection.known, self._selection.block
        title = known.title if known else ""
        self.setText(f"{title}, block {block}" if block else title)
        self.setToolTip(f"{self.text()}\n\n{_TIP}".strip())
