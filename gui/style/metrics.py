"""The 8-pixel grid, the fonts, and the size of all letters, set for all in turns while the program runs."""

from collections import deque
from collections.abc import Callable, Iterable
from functools import cache, partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QFont, QFontDatabase, QFontMetrics
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget
from shiboken6 import isValid

GRID = 8
HALF_GRID = GRID // 2
EARLIER_OPACITY = 0.65
"""Opacity of drawings of runs for an earlier problem: their numbers keep a contrast of 4.5 : 1."""
# QFont::SizeResolved, which has no name in Python.
_HAS_SIZE = 0x0002
PAUSE_MS = 8
_desktop_points: float | None = None
_percent = 100


def number_font() -> QFont:
    """Return the application's font with figures of one width, so that columns of numbers line up."""
    font = QFont(QApplication.font())
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def small_font() -> QFont:
    """Return the font of notes under a control."""
    return scaled_font(0.9)


def scaled_font(scale: float, *, bold: bool = False) -> QFont:
    """Return the application's font so many times as large."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * scale)
    font.setBold(bold)
    return font


def digits_width(count: int) -> int:
    """Return the width of so many figures in `number_font`, pixels."""
    return QFontMetrics(number_font()).horizontalAdvance("0" * count)


def code_font() -> QFont:
    """Return the font of code: one whose letters have one width."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF() * 0.88)
    return font


class Turns(QObject):
    """Runs each requested job once, `PAUSE_MS` after what the one before it has set off is laid out.

    Timers of 0 ms that were started together run together: three plots of 200 rows would take 40 ms at once.
    So would a pause that ends while a layout goes on.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], object]] = deque()
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._run_next)
        self._after_layout = QTimer(self, singleShot=True, interval=0)
        self._after_layout.timeout.connect(self._pause.start)

    def ask(self, job: Callable[[], object]) -> None:
        """Run a job in its turn; one that waits already is not run twice."""
        if job not in self._waiting:
            self._waiting.append(job)
        if not self._pause.isActive():
            self._after_layout.start()

    def _run_next(self) -> None:
        job = self._waiting.popleft()
        try:
            job()
        finally:
            if self._waiting:
                self._after_layout.start()


class Notifier(QObject):
    """For what was computed from the letters, or painted by hand in the colours of a theme."""

    changed = Signal(object)  # their size in per cent, or the new Theme


class _Follower(QObject):
    """Lives as long as its widget, and so does its connection."""

    def __init__(self, widget: QWidget, fit: Callable[[], object]) -> None:
        super().__init__(widget)
        self._widget, self._fit = widget, fit
        _of_program().changed.connect(self._follow)

    def _follow(self) -> None:
        if self._widget.isVisible():
            self._fit()
        else:
            # What is hidden is laid out with the new letters only when it is shown.
            self._widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._widget.removeEventFilter(self)
            QTimer.singleShot(0, self, self._fit)
        return False


def follow(show: Callable[[], object], *signals: SignalInstance) -> None:
    """Call a function after each of these signals, and now."""
    for signal in signals:
        signal.connect(show)
    show()


def follow_letters(widget: QWidget, fit: Callable[[], object]) -> None:
    """Give a widget a size that follows from the letters: now, and whenever they change."""
    fit()
    _Follower(widget, fit)


def at_usual_letters(width: int) -> int:
    """Return a width, or where letters are larger than usual what it is at their usual size, about.

    Panels need no more width than that: they scroll, and all of them stay on the screen.
    """
    return width * 100 // max(100, _percent)


def at_present_letters(width: int) -> int:
    """Return what a width with letters of the usual size is with the present ones, about."""
    return width * _percent // 100


def set_letter_size(app: QApplication, percent: int) -> None:
    """Show all letters at so many per cent of the desktop's size, also those on the screen now."""
    global _desktop_points, _percent
    font = QFont(app.font())
    before = font.pointSizeF()
    if _desktop_points is None:
        _desktop_points = before
    after = _desktop_points * percent / 100.0
    _percent = percent
    if abs(after - before) < 1e-6:
        return
    # A widget whose font has a size of its own, such as a note's, does not follow the application's.
    own = [
        (widget, QFont(widget.font()))
        for widget in app.allWidgets()
        if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont) and widget.font().resolveMask() & _HAS_SIZE
    ]
    font.setPointSizeF(after)
    # All at once would take 0.15 s: letters, layouts, what follows from the letters, and the painting of it.
    windows = [window for window in app.topLevelWidgets() if window.isVisible()]
    panels = [one for window in windows for one in window.findChildren(QScrollArea) if one.isVisible()]
    for part in (*windows, *panels):
        part.setUpdatesEnabled(False)
    app.setFont(font)
    # Under a style sheet the widgets that are there follow only the font of their class.
    app.setFont(font, "QWidget")  # type: ignore[arg-type]  # a text, whatever the stubs say
    for widget, its in own:
        its.setPointSizeF(its.pointSizeF() * after / before)
        widget.setFont(its)

    def paint(parts: Iterable[QWidget]) -> None:
        for part in filter(isValid, parts):
            part.setUpdatesEnabled(True)

    # Layouts know their sizes with the new letters only then.
    turns = Turns(app)
    tell, panels_too = partial(_of_program().changed.emit, percent), partial(paint, panels)
    for job in (tell, partial(paint, windows), panels_too, turns.deleteLater):
        turns.ask(job)


@cache
def _of_program() -> Notifier:
    return Notifier()
