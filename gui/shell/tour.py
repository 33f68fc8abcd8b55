"""The tour of the window: cards that point at its parts. It never blocks and can be left at any time."""

from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QPushButton, QWidget

from gui.style.metrics import GRID, scaled_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.panel_parts import column, quiet_label, row

WIDTH = 42 * GRID


class Step(NamedTuple):
    """A part of the window, by its object name, and what is said of it."""

    target: str
    title: str
    words: str


STEPS = (
    Step("mask", "The mask",
         "The weights that a pixel's neighbours are multiplied with. Choose a preset, or type in a cell."),
    Step("picture", "The picture",
         "It follows each edit. Drag the handle to compare original and result; the wheel zooms until the"
         " numbers stand in the pixels. Drop or paste your own picture."),
    Step("kernel", "The kernel",
         "The ways to compute the result, on the CPU and on GPUs. What cannot run is grey and says why."),
    Step("primary", "Run",
         "Compares the result with a float64 reference, then measures. Run all, beside it, does that for"
         " every kernel."),
    Step("results", "The answer",
         "What was proven, how long it took, and how many times faster it is than the baseline."),
    Step("", "Everything else",
         "Ctrl+Shift+P finds every command by a few letters. F1 explains the panel that you are in. This"
         " tour is in the menu Help."),
)  # fmt: skip


class Tour(QFrame):
    """The card of one step, over the window; Esc, the button or the end closes it."""

    ended = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("tour")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName("Tour")
        self._window = window
        self._at = -1
        self._frame = _Frame(window)
        self._title, self._words, self._count = QLabel(), QLabel(), quiet_label(small=True)
        self._title.setFont(scaled_font(1.15, bold=True))
        self._words.setWordWrap(True)
        self._back = QPushButton("&Back")
        self._back.setToolTip("The step before.")
        self._back.clicked.connect(lambda: self.show_step(self._at - 1))
        self._next = QPushButton("&Next")
        self._next.setToolTip("The next step (Enter).")
        self._next.clicked.connect(lambda: self.show_step(self._at + 1))
        self._leave = QPushButton("&Leave")
        self._leave.setToolTip("Leave the tour (Esc). It is in the menu Help.")
        self._leave.clicked.connect(self.close)
        buttons = row(self._count, 1, self._leave, self._back, self._next)
        margins = (2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        self.setLayout(column(self._title, self._words, buttons, spacing=GRID, margins=margins))
        self._dress()
        theme_notifier().changed.connect(self._dress)
        app = QApplication.instance()
        assert app is not None
        app.installEventFilter(self)
        self.show_step(0)

    @property
    def step(self) -> Step:
        """The step that is shown."""
        return STEPS[self._at]

    def show_step(self, number: int) -> None:
        """Show a step; the one after the last ends the tour."""
        if number >= len(STEPS):
            self.close()
            return
        self._at = max(0, number)
        self._title.setText(self.step.title)
        self._words.setText(self.step.words)
        self._count.setText(f"{self._at + 1} of {len(STEPS)}")
        self._back.setEnabled(self._at > 0)
        self._next.setText("&Done" if self._at + 1 == len(STEPS) else "&Next")
        self._place()
        self.show()
        self.raise_()
        self._next.setFocus()

    def _target(self) -> QRect | None:
        """Return where the part is within the window, if it is seen."""
        names = self._window.findChildren(QWidget, self.step.target) if self.step.target else []
        part = next((one for one in names if one.isVisible()), None)
        if part is None:
            return None
        seen = QRect(part.mapTo(self._window, QPoint()), part.size()).intersected(self._window.rect())
        return seen if not seen.isEmpty() else None

    def _place(self) -> None:
        """Lie beside the part, on the side with the most room; in the middle without one."""
        target, whole = self._target(), self._window.rect()
        self._frame.show_around(target)
        width = min(WIDTH * self.fontMetrics().height() // 14, whole.width() - 4 * GRID)
        self.setFixedWidth(max(width, WIDTH // 2))
        self.adjustSize()
        size = self.size()
        if target is None:
            self.move(whole.center() - self.rect().center())
            return
        left, right = target.left() - 2 * GRID - size.width(), target.right() + 2 * GRID
        if right + size.width() < whole.right():
            place = QPoint(right, target.top() + GRID)
        elif left > 0:
            place = QPoint(left, target.top() + GRID)
        else:
            above = target.top() - 2 * GRID - size.height()
            place = QPoint(target.left() + GRID, above if above > 0 else target.bottom() + 2 * GRID)
        most = QPoint(whole.right() - size.width() - GRID, whole.bottom() - size.height() - GRID)
        self.move(max(GRID, min(place.x(), most.x())), max(GRID, min(place.y(), most.y())))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self._window and kind in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            QTimer.singleShot(0, self, self._place)
        elif isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self._is_in_front():
            if kind == QEvent.Type.ShortcutOverride:
                # Else the window's Esc, which stops a run, would have it.
                event.accept()
                return True
            if kind == QEvent.Type.KeyPress:
                self.close()
                return True
        return False

    def _is_in_front(self) -> bool:
        return QApplication.activePopupWidget() is None and self._window.isActiveWindow()

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
        self._frame.deleteLater()
        self.ended.emit()

    def _dress(self) -> None:
        theme = current_theme()
        self.setStyleSheet(
            f"#tour {{ background: {theme.raised}; border: 1px solid {theme.outline}; border-radius: 8px; }}"
        )


class _Frame(QWidget):
    """A frame around the part that is spoken of; the mouse does not see it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_around(self, target: QRect | None) -> None:
        """Lie around a rectangle of the window; nowhere for None."""
        self.setVisible(target is not None)
        if target is not None:
            self.setGeometry(target.adjusted(-2, -2, 2, 2))
            self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(current_theme().accent), 3))
        painter.drawRoundedRect(self.rect().adjusted(2, 2, -2, -2), 6, 6)
        painter.end()
