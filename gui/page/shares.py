"""Areas beside or below one another: each keeps its share of the room, whatever the size of the window."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from gui.style.metrics import at_present_letters, follow_letters

# Of the room: what an area needs at first gets no more.
_MOST = 0.4


class Share(NamedTuple):
    """An area, its share of the room, and what it has at first where that is less.

    That is pixels with letters of the usual size, or a function that returns them for the present ones.
    """

    area: QWidget
    share: float
    need: int | Callable[[], int] = 0

    @property
    def needed(self) -> int:
        """What it needs with the present letters, pixels."""
        return at_present_letters(self.need) if isinstance(self.need, int) else self.need()


class Shares(QSplitter):
    """A splitter whose areas follow its size; a person who moves a handle chooses other shares."""

    def __init__(self, name: str, orientation: Qt.Orientation, *parts: Share) -> None:
        super().__init__(orientation, childrenCollapsible=False, handleWidth=1)
        self.setObjectName(name)
        self._parts = parts
        self._chosen: tuple[float, ...] = ()
        for part in parts:
            self.addWidget(part.area)
        self._shown = self._visible()
        self.splitterMoved.connect(self._note)
        follow_letters(self, self.fit)

    @property
    def chosen(self) -> tuple[float, ...]:
        """The shares that a person chose; empty while they are as at first."""
        return self._chosen

    def choose(self, shares: Sequence[float]) -> None:
        """Give the areas these shares, or those that they have at first."""
        is_fit = len(shares) == len(self._parts) and all(share > 0.0 for share in shares)
        self._chosen = tuple(shares) if is_fit else ()
        self.fit()

    def fit(self) -> None:
        """Give each area its share of the present room."""
        shown = self._visible()
        room = (self.width() if self.orientation() == Qt.Orientation.Horizontal else self.height()) - sum(
            self.handleWidth() for _ in shown[1:]
        )
        if not shown or room <= 0:
            return
        shares = self._chosen or tuple(part.share for part in self._parts)
        whole = sum(shares[at] for at in shown)
        sizes = {at: room * shares[at] / whole for at in shown}
        if not self._chosen:
            most = _MOST * room
            sizes = {at: max(size, min(most, self._parts[at].needed)) for at, size in sizes.items()}
            # What some need more, the largest has less.
            sizes[max(sizes, key=lambda at: sizes[at])] -= sum(sizes.values()) - room
        self.setSizes([round(sizes.get(at, 0)) for at in range(len(self._parts))])

    def show_only(self, inner: QWidget, is_alone: bool) -> None:
        """Hide all areas but the one that a widget is in, or show them again."""
        for part in self._parts:
            part.area.setVisible(not is_alone or part.area is inner or part.area.isAncestorOf(inner))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self._visible() != self._shown:
            self._shown = self._visible()
            self.fit()
        return handled

    def _visible(self) -> list[int]:
        return [at for at, part in enumerate(self._parts) if not part.area.isHidden()]

    def _note(self) -> None:
        sizes, shares = self.sizes(), list(self._chosen or (part.share for part in self._parts))
        shown = self._visible()
        whole, room = sum(shares[at] for at in shown), sum(sizes)
        for at in shown:
            shares[at] = whole * sizes[at] / room
        self._chosen = tuple(shares)
