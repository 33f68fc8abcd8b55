"""What every panel does that explains the kernel that is looked at: it asks anew when that changes."""

from PySide6.QtCore import QObject, QTimer, Signal

from gui.explore.looked_at.looked_at import LookedAt


class ExplainedKernel(QObject):
    """What a panel shows of the kernel and of one of its passes; asks only while somebody looks."""

    changed = Signal()

    def __init__(self, looked_at: LookedAt) -> None:
        super().__init__()
        self.looked_at = looked_at
        self._pass = 0
        self._is_watched = False
        # Edits that arrive together make one question.
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._ask)
        looked_at.changed.connect(self._refresh)

    def watch(self, is_watched: bool) -> None:
        """Follow the kernel from now on, or let it be: nobody looks."""
        self._is_watched = is_watched
        self._refresh()

    def choose_pass(self, number: int) -> None:
        """Show another pass."""
        if number != self._pass and number >= 0:
            self._pass = number
            self.changed.emit()

    def _refresh(self) -> None:
        if self._is_watched:
            self._timer.start()

    def _ask(self) -> None:
        """Ask the engine about the kernel that is looked at."""
        raise NotImplementedError
