"""How a page is laid out: areas that keep their share of the room, in them panels behind tabs.

A panel can be opened as a window of its own; closed, it is back behind its tab. Tab goes through a window as
it is laid out: what is made later has its turn where it stands. Qt's own chain has such widgets last, and is
not read here: in PySide6 6.11 `nextInFocusChain()` makes the widget that it returns a child of the one that
it was asked of, for Python only.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QSplitter, QStackedWidget, QTabBar, QWidget

from gui.style.metrics import GRID, HALF_GRID, at_present_letters, at_usual_letters, follow_letters
from gui.widgets.panel_parts import ScrollArea, column, icon_button, named, row


def focus_next(window: QWidget, *, is_forward: bool) -> bool:
    """Give the focus to what comes next in a window, or before it; return whether there is something."""
    now = window.focusWidget()
    tab = Qt.FocusPolicy.TabFocus
    # A part whose box has the focus for it, such as the line edit in a number box, has a proxy.
    order = [
        one for one in _shown_in(window)
        if one is now or (one.focusPolicy() & tab and one.isEnabled() and one.focusProxy() is None)
    ]  # fmt: skip
    if not order:
        return False
    step, reasons = 1 if is_forward else -1, Qt.FocusReason
    at = order.index(now) + step if now in order else min(step, 0)
    order[at % len(order)].setFocus(reasons.TabFocusReason if is_forward else reasons.BacktabFocusReason)
    return True


def _shown_in(widget: QWidget) -> Iterator[QWidget]:
    children: Iterable[QObject] = widget.children()
    if isinstance(widget, QSplitter):
        # Its children are in the order in which they were shown.
        children = filter(None, map(widget.widget, range(widget.count())))
    for child in children:
        if isinstance(child, QWidget) and child.isVisible() and not child.isWindow():
            yield child
            yield from _shown_in(child)


# A panel with larger letters than usual can be made as narrow as this: then it scrolls.
_NARROW = 30 * GRID
_LOW = 12 * GRID
_WINDOW_TIP = "Open the panel in front as a window of its own. Closed, it is back here."


class Panel(QWidget):
    """A panel of a page. `head`, if any, stands beside its tab while it is in front."""

    def __init__(self, name: str, title: str, content: QWidget, head: QWidget | None = None) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setWindowTitle(title)
        self.content, self.head = content, head or QWidget()
        self.tabs: PanelTabs | None = None
        self.is_own_window = False
        self._column = column((_Room(content), 1), spacing=0)
        self.setLayout(self._column)

    @property
    def is_front(self) -> bool:
        """Whether its tab is the one in front of its place."""
        return not self.is_own_window and self.tabs is not None and self.tabs.front is self

    @property
    def is_alone(self) -> bool:
        """Whether it shares its place with no other panel."""
        return self.tabs is None or len(self.tabs.panels) == 1

    def rename(self, title: str) -> None:
        self.setWindowTitle(title)
        if not self.is_own_window and self.tabs is not None:
            self.tabs.bar.setTabText(self.tabs.stack.indexOf(self), title)

    def bring_to_front(self) -> None:
        """Show it: its tab, with that of the panel around it, or its window."""
        if self.is_own_window:
            self.show()
            self.raise_()
            self.activateWindow()
            return
        assert self.tabs is not None
        self.tabs.show_panel(self)
        around = self.tabs.parentWidget()
        while around is not None and not isinstance(around, Panel):
            around = around.parentWidget()
        if around is not None:
            around.bring_to_front()

    def open_as_window(self, place: QRect | None = None, *, is_shown: bool = True) -> None:
        """Be a window of its own, over the one that it was in; by default where it stands now."""
        if self.is_own_window or self.tabs is None:
            return
        tabs = self.tabs
        place = place or QRect(tabs.mapToGlobal(QPoint(2 * GRID, 2 * GRID)), tabs.size())
        with QSignalBlocker(tabs.bar):
            tabs.bar.removeTab(tabs.stack.indexOf(self))
        tabs.stack.removeWidget(self)
        tabs.heads.removeWidget(self.head)
        tabs.show_front()
        self.is_own_window = True
        self._column.insertWidget(0, self.head)
        self.head.show()
        # As a tool it stays over the window, and shares its shortcuts.
        self.setParent(self.tabs, Qt.WindowType.Tool)
        self.setGeometry(place)
        self.setVisible(is_shown)

    def put_back(self) -> None:
        """Be behind its tab again, in front."""
        if self.is_own_window and self.tabs is not None:
            self.is_own_window = False
            with QSignalBlocker(self.tabs.bar):
                self.tabs.insert(self)
            self.tabs.show_panel(self)
            self.tabs.show_front()

    def focusNextPrevChild(self, is_forward: bool) -> bool:
        # In its own window; else the window around decides.
        if self.isWindow():
            return focus_next(self, is_forward=is_forward)
        return super().focusNextPrevChild(is_forward)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        # Qt hides it when this is over.
        QTimer.singleShot(0, self, self.put_back)


class PanelTabs(QWidget):
    """Panels that share a place: a row with a tab each, and the one in front below it."""

    def __init__(self, *panels: Panel, are_parts: bool = False) -> None:
        """`are_parts` are those of a panel: their tabs stand closer, and have no button of their own."""
        super().__init__()
        self.panels = panels
        bar = QTabBar(drawBase=False, expanding=False, elideMode=Qt.TextElideMode.ElideNone)
        self.bar = named(bar, "Panels in this place")
        # Their room is kept, which parts the tab from its head.
        self.bar.setUsesScrollButtons(len(panels) > 1)
        self.bar.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.heads, self.stack = QStackedWidget(), QStackedWidget()
        self._button = icon_button("dock-window", "Open as window", _WINDOW_TIP)
        self._button.clicked.connect(lambda: self.front.open_as_window())
        line = QFrame()
        line.setObjectName("partTabs" if are_parts else "panelTabs")
        line.setLayout(row(self.bar, (self.heads, 1), self._button, spacing=HALF_GRID))
        self.setLayout(column(line, (self.stack, 1), spacing=0))
        # Only now: what is made visible without a parent is a window, which takes the keys.
        self._button.setVisible(not are_parts)
        for panel in panels:
            panel.tabs = self
            self.insert(panel)
        self.bar.setCurrentIndex(0)
        self.bar.currentChanged.connect(self.show_front)
        self.bar.tabBarDoubleClicked.connect(lambda at: self._panel(at).open_as_window())

    @property
    def front(self) -> Panel:
        return self._panel(self.stack.currentIndex())

    def show_panel(self, panel: Panel) -> None:
        self.bar.setCurrentIndex(self.stack.indexOf(panel))

    def follow(self) -> None:
        """Leave the room to others while every panel is a window."""
        self.setVisible(self.stack.count() > 0)
        around = self.parentWidget()
        if isinstance(around, QSplitter):
            others = filter(None, map(around.widget, range(around.count())))
            around.setVisible(any(not other.isHidden() for other in others))

    def _panel(self, at: int) -> Panel:
        panel = self.stack.widget(at)
        assert isinstance(panel, Panel)
        return panel

    def insert(self, panel: Panel) -> None:
        before = self.panels[: self.panels.index(panel)]
        at = sum(not other.is_own_window and self.stack.indexOf(other) >= 0 for other in before)
        self.stack.insertWidget(at, panel)
        self.heads.insertWidget(at, panel.head)
        self.bar.insertTab(at, panel.windowTitle())

    def show_front(self) -> None:
        for stack in (self.stack, self.heads):
            stack.setCurrentIndex(self.bar.currentIndex())
        self.follow()


class _Room(ScrollArea):
    """What a panel holds: as large as there is room, or as it needs at least and scrolled."""

    def minimumSizeHint(self) -> QSize:
        least = self.least_size
        narrow = max(at_usual_letters(least.width()), _NARROW)
        return QSize(min(least.width(), narrow), min(least.height(), _LOW))

    def least_height(self, width: int) -> int:
        # Panels have parts that give way, such as plots; the height at a width is what they would like.
        return self.least_size.height()

    def follow_content(self) -> None:
        super().follow_content()
        self.updateGeometry()


def all_panels(*places: PanelTabs) -> Iterator[Panel]:
    """Return the panels of places, each followed by its parts."""
    for place in places:
        for panel in place.panels:
            yield panel
            yield from all_panels(*panel.findChildren(PanelTabs))


def shown_words(panel: Panel) -> str:
    """Return what it does to choose a panel."""
    return f"Bring the panel {panel.windowTitle()} to the front."


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
        self.chosen: tuple[float, ...] = ()
        """The shares that a person chose; empty while they are as at first."""
        for part in parts:
            self.addWidget(part.area)
        self._shown = self._visible()
        self.splitterMoved.connect(self._note)
        follow_letters(self, self.fit)

    def choose(self, shares: Sequence[float]) -> None:
        """Give the areas these shares, or those that they have at first."""
        is_fit = len(shares) == len(self._parts) and all(share > 0.0 for share in shares)
        self.chosen = tuple(shares) if is_fit else ()
        self.fit()

    def fit(self) -> None:
        shown, is_row = self._visible(), self.orientation() == Qt.Orientation.Horizontal
        space = (self.width() if is_row else self.height()) - self.handleWidth() * len(shown[1:])
        if not shown or space <= 0:
            return
        shares = self.chosen or tuple(part.share for part in self._parts)
        whole = sum(map(shares.__getitem__, shown))
        # Areas that have no share beside others share the room where they are alone.
        sizes = {at: space * (shares[at] / whole if whole else 1 / len(shown)) for at in shown}
        if not self.chosen:
            most = _MOST * space
            sizes = {at: max(size, min(most, self._parts[at].needed)) for at, size in sizes.items()}
            # What some need more, the largest has less.
            sizes[max(sizes, key=lambda at: sizes[at])] -= sum(sizes.values()) - space
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
        sizes, shares = self.sizes(), list(self.chosen or (part.share for part in self._parts))
        shown = self._visible()
        whole, space = sum(shares[at] for at in shown), sum(sizes)
        for at in shown:
            # None has nothing: shown alone, it would have no share of the whole.
            shares[at] = whole * max(1, sizes[at]) / max(1, space)
        self.chosen = tuple(shares)
