"""The panel Time and speed-up: the plot of the runs, how to read it, and what the selected run cost."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import (
    QBuffer,
    QIODevice,
    QItemSelection,
    QItemSelectionModel,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from engine.results.columns import SPEED_UP, device_text, problem_text
from engine.results.compare import Compared
from engine.results.quantities import rate_text, tick_text
from gui.explore.axis_button import axis_button
from gui.explore.results.plot_model import RATIO, PlotModel
from gui.explore.results.plot_rows import Order
from gui.explore.results.plot_view import PlotView
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.row_actions import RowActions
from gui.explore.run_words import EARLIER, compared_words, costs_words, run_title, work_words
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import theme_notifier
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import Placeholder, column, row
from gui.widgets.run_tooltip import run_tooltip
from gui.widgets.runs_model import RUN_ROLE

_EMPTY = (
    "A bar for each kernel: its time with its spread, and how many times faster it is than the baseline.\n"
    "Press Run all to measure every kernel on the same problem."
)
_LEGEND = "Bar: median. Line: p20 to p80. Tick: minimum."
_SIMULATED = "Simulated runs are not timed. "
_FILTERS = ["PNG (*.png)", "SVG (*.svg)"]
# Of a saved picture: pixels of the screen, and how many of its own each has.
_SAVED_WIDTH, _SCALE = 720, 2


class PlotPanel(QWidget):
    """Shows the rows of the newest problem; those of an earlier one are dimmed and named.

    `teaching` returns the variants in teaching order.
    """

    save_wanted = Signal(list, object)  # the filters of the file dialog, and what saves to a path
    saved = Signal(Path, bytes)

    def __init__(
        self,
        results: ResultsModel,
        actions: RowActions | None = None,
        teaching: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        super().__init__()
        self._results = results
        self._actions = actions
        self.model = PlotModel(results, teaching)
        self.model.setParent(self)
        self.view = PlotView(self.model, self._tick_text)
        self.stack = Placeholder(self.view)
        self.caption = ElidedLabel(most=2, small=True)
        self.caption.setForegroundRole(QPalette.ColorRole.WindowText)
        self.legend = ElidedLabel(small=True)
        self.omitted = ElidedLabel(small=True)
        self.about = ElidedLabel(most=2, small=True)
        self.about.setForegroundRole(QPalette.ColorRole.WindowText)
        self.about.setAccessibleName("The selected run")
        self.difference = QPushButton("Show difference")
        self.difference.setToolTip("Filter with both, and show in the picture where their results differ.")
        self.axis_button = axis_button("What the bars show", self.model.shown.shown, self.choose)
        legend = row((self.legend, 1), self.axis_button)
        about = row((self.about, 1), self.difference)
        about.setAlignment(self.difference, Qt.AlignmentFlag.AlignTop)
        margins = (GRID, 0, GRID, HALF_GRID)
        parts = self.caption, (self.stack, 1), legend, self.omitted, about
        self.setLayout(column(*parts, spacing=HALF_GRID // 2, margins=margins))
        self._is_following = False
        self.view.selectionModel().selectionChanged.connect(self._select)
        self.view.customContextMenuRequested.connect(self._open_menu)
        self.view.activated.connect(lambda index: self._restore(index.data(RUN_ROLE)))
        self.model.drawn.connect(self._follow)
        self.model.modelReset.connect(self._show_selected)
        results.selected_changed.connect(self._show_selected)
        results.described_changed.connect(self._describe)
        self.difference.clicked.connect(self._show_difference)
        theme_notifier().changed.connect(self.view.viewport().update)
        self._follow()
        self._describe()

    def choose(self, key: str) -> None:
        """Draw another number of the runs."""
        self.model.choose(key)

    def minimumSizeHint(self) -> QSize:
        # Two rows and a line of each of the words around them, however large their letters.
        return QSize(30 * GRID, super().minimumSizeHint().height())

    @property
    def wanted_height(self) -> int:
        """The height with two rows, a caption, and a second line of it and of the words of the run."""
        return self.minimumSizeHint().height() + 3 * QFontMetrics(small_font()).height()

    def menu(self) -> QMenu:
        """Return what can be done with the plot and with the row under the mouse."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        current = self.view.currentIndex()
        if current.isValid() and self._actions is not None:
            self._actions.fill(menu, current.data(RUN_ROLE), self)
            menu.addSeparator()
        for order in Order:
            sort = menu.addAction(order.value)
            sort.setCheckable(True)
            sort.setChecked(self.model.order is order)
            sort.triggered.connect(lambda _checked, order=order: self.model.sort_by(order))
        menu.addSeparator()
        menu.addAction("Copy as picture").triggered.connect(self.copy_picture)
        menu.addAction("Save as PNG or SVG…").triggered.connect(
            lambda: self.save_wanted.emit(_FILTERS, self.save)
        )
        return menu

    def copy_picture(self) -> None:
        """Put the plot on the clipboard, with all its rows."""
        QGuiApplication.clipboard().setPixmap(self._drawn())

    def save(self, path: Path) -> None:
        """Give the plot away as bytes of a file, in the form that the suffix says: .svg, else PNG."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        if path.suffix.lower() == ".svg":
            size = QSize(_SAVED_WIDTH, self.view.whole_height)
            drawing = QSvgGenerator()
            drawing.setOutputDevice(buffer)
            drawing.setSize(size)
            drawing.setViewBox(QRect(QPoint(), size))
            drawing.setTitle("Time and speed-up")
            painter = QPainter(drawing)
            self.view.draw(painter, _SAVED_WIDTH)
            painter.end()
        else:
            self._drawn().save(buffer, "PNG")
        self.saved.emit(path, bytes(buffer.data().data()))

    def _drawn(self) -> QPixmap:
        image = QPixmap(QSize(_SAVED_WIDTH, self.view.whole_height) * _SCALE)
        image.setDevicePixelRatio(_SCALE)
        painter = QPainter(image)
        self.view.draw(painter, _SAVED_WIDTH)
        painter.end()
        return image

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Delete) and self._actions is not None:
            self._actions.delete(self._results.selected)
        else:
            super().keyPressEvent(event)

    def _open_menu(self, position: QPoint) -> None:
        self.menu().popup(self.view.viewport().mapToGlobal(position))

    def _restore(self, run: Compared) -> None:
        if self._actions is not None:
            self._actions.restore(run)

    def _show_difference(self) -> None:
        if self._actions is not None:
            self._actions.difference_wanted.emit(*self._results.selected)

    def _select(self) -> None:
        if not self._is_following:
            rows = self.view.selectionModel().selectedRows()
            self._results.select([index.data(RUN_ROLE).result for index in rows])

    def _show_selected(self) -> None:
        """Select the rows of the selected runs; a run without a row of its own has that of its name."""
        chosen = [run.result for run in self._results.selected] or (
            [self._results.described.result] if self._results.described else []
        )
        wanted = QItemSelection()
        at = None
        for number, one in enumerate(self.model.rows()):
            if any(one.run.result is result for result in chosen):
                wanted.select(self.model.index(number, 0), self.model.index(number, RATIO))
                at = self.model.index(number, 0)
        self._is_following = True
        try:
            self.view.selectionModel().select(wanted, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            if at is not None:
                self.view.selectionModel().setCurrentIndex(at, QItemSelectionModel.SelectionFlag.NoUpdate)
                self.view.scrollTo(at)
        finally:
            self._is_following = False

    def _follow(self) -> None:
        """Say what the plot cannot: which problem, how to read it, what is left out."""
        shown = self.model.shown
        captions = []
        if shown.is_earlier and shown.of is not None:
            captions.append(f"{EARLIER[0].upper()}{EARLIER[1:]}: {problem_text(shown.of.result)}")
        if shown.recorded:
            gpu = next((run.result for run in shown.recorded if run.result.layout), shown.recorded[0].result)
            captions.append(f"Hollow bars: {device_text(gpu)}")
            captions.append(self._results.recorded_note)
        self.caption.setText(" · ".join(filter(None, captions)).replace(" × ", "\u00a0×\u00a0"))
        self.caption.setVisible(bool(captions))
        has_spread = any(one.spread for one in shown.rows)
        scale = " Logarithmic." if self.model.scale.is_log else ""
        words = _LEGEND if has_spread else f"{_SIMULATED if shown.are_simulated else ''}{shown.shown.header}."
        self.legend.setText(f"{words}{scale}" if shown.rows else "")
        self.legend.setVisible(shown.of is not None)
        self.omitted.setText(shown.omitted)
        self.omitted.setVisible(bool(shown.omitted))
        self.axis_button.setVisible(shown.of is not None)
        self.stack.say("" if shown.rows else self._why_empty())
        earlier = EARLIER if shown.is_earlier else ""
        parts = earlier, self.view.accessibleDescription(), shown.omitted
        self.setAccessibleDescription(". ".join(filter(None, parts)))
        self._show_selected()

    def _why_empty(self) -> str:
        shown = self.model.shown
        if shown.of is None:
            return _EMPTY
        if shown.are_simulated:
            return f"{_SIMULATED}Their {shown.shown.title} is not known."
        if shown.shown.key == SPEED_UP:
            return f"No {self._results.baseline} time to compare with. Run it or choose another baseline."
        if shown.shown.unit == "ms":
            return "No run was timed."
        return f"{shown.shown.title[:1].upper()}{shown.shown.title[1:]}: not known of any run."

    def _describe(self) -> None:
        """Say what the selected run cost, or how two differ."""
        selected, run = self._results.selected, self._results.described
        self.about.setVisible(run is not None)
        is_pair = len(selected) == 2
        self.difference.setVisible(is_pair)
        if is_pair:
            pair = self._actions.jobs_of_pair(selected) if self._actions is not None else None
            self.difference.setEnabled(pair is not None)
            self.about.setText(compared_words(*selected))
            return
        if run is None:
            self.about.setText("")
            return
        title = run_title(run, is_earlier=self._results.is_earlier(run.result))
        self.about.setText(" · ".join(filter(None, (title, costs_words(run), work_words(run)))))
        self.about.setToolTip(run_tooltip(run))

    def _tick_text(self, value: float) -> str:
        shown = self.model.shown.shown
        if shown.unit == "ms":
            return tick_text(value) if value else "0"
        if shown.key == SPEED_UP:
            return f"{value:,.15g}×"
        # Errors are tiny, and rates are not.
        return rate_text(value) if value == 0 or abs(value) >= 1e-3 else f"{value:.0e}"
