"""A histogram as steps, a colour for each channel."""

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QToolTip

from gui.style.metrics import GRID, small_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.plot import Plot, pg

Ends = tuple[float, float]
_NAMES = ("Red", "Green", "Blue")
# On light and on dark, each at least 3 : 1 against the plot's base.
CHANNEL_COLOURS = {"light": ("#b3202a", "#136a2e", "#0b5fc0"), "dark": ("#ff8a82", "#56c777", "#5aaaf5")}
_FILL_ALPHA = 90
_PAGE, _ALL = 16, 10**6
_STEPS = {
    Qt.Key.Key_Left: -1, Qt.Key.Key_PageUp: -_PAGE, Qt.Key.Key_Home: -_ALL,
    Qt.Key.Key_Right: 1, Qt.Key.Key_PageDown: _PAGE, Qt.Key.Key_End: _ALL,
}  # fmt: skip
# Black begins with a bin, white ends with one.
_ENDS_KEYS = "[", "]"
_KEYS = "Arrow keys read a bin, Page Up and Page Down go 16 on, Home and End to the ends."


class HistogramPlot(Plot):
    """Counts by brightness, from black to white; on a square-root scale, as one full bin hides the others.

    The mouse and the arrow keys read single bins. Where it is shown what is black and white, two handles move
    these, or the keys [ and ] in a bin.
    """

    window_moved = Signal(tuple)  # the values that are to be black and white

    def __init__(self) -> None:
        super().__init__()
        # The values at the ends of the axis; None: black and white.
        self._ends: Ends | None = None
        self._window: Ends | None = None
        self._handles: tuple[pg.InfiniteLine, ...] = ()
        self._counts: tuple[tuple[int, ...], ...] = ()
        self._bin: int | None = None  # bin chosen by the arrow keys; None before the first
        self.left.hide()
        self.bottom.setStyle(hideOverlappingLabels=False, tickLength=0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Histogram")
        self.setMinimumHeight(16 * GRID)
        theme_notifier().changed.connect(self._draw)

    def show_counts(self, counts: tuple[tuple[int, ...], ...], ends: Ends | None = None) -> None:
        """Show the counts, a row for each channel; `ends` are the values of the ends of the bins."""
        if (counts, ends) == (self._counts, self._ends):
            return  # drawn already; with its paint that takes 5 ms
        self._ends = ends
        if not counts or not self._counts or len(counts[0]) != len(self._counts[0]):
            self._bin = None
        self._counts = counts
        self._describe()
        self._draw()

    def show_window(self, window: Ends) -> None:
        """Show which values are black and white, by handles that can be moved."""
        self._window = window
        if not self._handles:
            self._handles = tuple(self._handle() for _ in window)
        low, high = self._ends or (0.0, 1.0)
        for handle, value in zip(self._handles, window, strict=True):
            with QSignalBlocker(handle):
                handle.setPos(min(max((value - low) / (high - low), 0.0), 1.0) * self._bins)

    def _handle(self) -> pg.InfiniteLine:
        handle = pg.InfiniteLine(0, 90, pg.mkPen(current_theme().accent, width=2), True)
        handle.addMarker("<|>", 0.5, 9)
        handle.setZValue(2)
        self.box.addItem(handle, ignoreBounds=True)
        handle.sigPositionChanged.connect(lambda: self._move(handle, float(handle.value())))
        return handle

    def _move(self, handle: pg.InfiniteLine, place: float) -> None:
        """Take the place of a handle as its value; the other one keeps its own."""
        if self._window is not None:
            ends, (low, high) = list(self._window), self._ends or (0.0, 1.0)
            ends[self._handles.index(handle)] = low + place / self._bins * (high - low)
            if ends[0] < ends[1]:
                self.window_moved.emit(tuple(ends))

    @property
    def _bins(self) -> int:
        return len(self._counts[0]) if self._counts else 1

    def _describe(self) -> None:
        counts = self._counts
        total, bins = sum(map(sum, counts)), len(counts[0]) if counts else 0
        here = "" if self._bin is None else f"{self._words(self._bin)}. ".replace("\n", ", ")
        channels = f"{len(counts)} channel{'s' if len(counts) != 1 else ''}"
        self.setAccessibleDescription(f"{here}{total:,} samples in {bins} bins of {channels}. {_KEYS}")

    def _draw(self) -> None:
        theme, bins = current_theme(), self._bins
        self.clear()
        self.colour(theme)
        self.setStyleSheet(
            f"HistogramPlot {{ border: 1px solid {theme.outline}; }}"
            f"HistogramPlot:focus {{ border: 2px solid {theme.accent}; }}"
        )
        for number, counts in enumerate(self._counts):
            colour = channel_colour(number, len(self._counts))
            fill = QColor(colour)
            fill.setAlpha(_FILL_ALPHA)
            look = {"pen": pg.mkPen(colour, width=1.25), "brush": fill, "fillLevel": 0, "antialias": True}
            heights = np.sqrt(np.array(counts))
            curve = pg.PlotCurveItem(np.arange(bins + 1), heights, stepMode="center", **look)
            # Painted again and again as panels are laid out: 1 ms a curve, from the cache 0.1 ms.
            curve.setCacheMode(curve.CacheMode.DeviceCoordinateCache)
            self.draw(curve)
        top = max((max(counts) for counts in self._counts), default=1) ** 0.5
        # Room for the words at the ends.
        self.show_range((-0.08 * bins, 1.08 * bins), (0, max(top, 1.0) * 1.03))
        self.bottom.setTickFont(small_font())
        first, last = (f"{end:.5g}" for end in self._ends) if self._ends else ("black", "white")
        self.bottom.setTicks([[(0, first), (bins / 2, "square root of counts"), (bins, last)]])
        for handle in self._handles:
            handle.setPen(pg.mkPen(theme.accent, width=2))
            handle.setHoverPen(pg.mkPen(theme.accent, width=4))
        if self._bin is not None and self._counts and self.hasFocus():
            # What is in it stands on the side that has more room.
            x = self._bin + 0.5
            self.draw(pg.InfiniteLine(x, 90, pg.mkPen(theme.text, style=Qt.PenStyle.DashLine)))
            words = pg.TextItem(self._words(self._bin), theme.text, anchor=(float(x > bins / 2), 0.0))
            words.setFont(small_font())
            words.setPos(x, top)
            self.draw(words)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._draw()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._draw()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = int(self.box.mapSceneToView(self.mapToScene(event.position().toPoint())).x())
        if self._counts and 0 <= at < self._bins:
            QToolTip.showText(event.globalPosition().toPoint(), self._words(at), self)
        super().mouseMoveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = _STEPS.get(Qt.Key(event.key()))
        if self._handles and self._bin is not None and event.text() in _ENDS_KEYS:
            at = _ENDS_KEYS.index(event.text())
            self._move(self._handles[at], self._bin + at)
        elif not self._counts or steps is None:
            event.ignore()
        else:
            # The first key only shows where it begins: in the first bin.
            at = 0 if self._bin is None and abs(steps) <= _PAGE else (self._bin or 0) + steps
            self._bin = min(max(at, 0), self._bins - 1)
            self._describe()
            self._draw()

    def _words(self, at: int) -> str:
        first = self._counts[0]
        names = _NAMES if len(self._counts) == len(_NAMES) else [f"Channel {n}" for n in range(4)]
        lines = [f"{name}: {counts[at]:,}" for name, counts in zip(names, self._counts, strict=False)]
        if len(self._counts) == 1:
            lines = [f"{first[at]:,} sample{'s' if first[at] != 1 else ''}"]
        return "\n".join([f"Bin {at} of {len(first)}", *lines])


def channel_colour(channel: int, channels: int) -> str:
    """Return the colour of one of so many channels."""
    theme = current_theme()
    if channels < len(_NAMES) or channel >= len(_NAMES):
        return theme.text
    return CHANNEL_COLOURS[theme.name][channel]
