"""The panel History: every edit in one list; a click goes back, or forward, to the state after it."""

from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QUndoView, QWidget

from gui.widgets.panel_parts import PANEL_MARGINS, column, quiet_label

_HINT = "Click a line to go there. Later lines stay until you edit."


class HistoryPanel(QWidget):
    """The edits that undo and redo go through."""

    def __init__(self, stack: QUndoStack) -> None:
        super().__init__()
        self.list = QUndoView(stack)
        self.list.setEmptyLabel("At the start")
        self.list.setSpacing(2)
        self.list.setAccessibleName("History of edits")
        self.list.setToolTip("Click a line for the state after that edit.")
        hint = quiet_label(_HINT, small=True, wraps=True)
        self.setLayout(column((self.list, 1), hint, margins=PANEL_MARGINS))
