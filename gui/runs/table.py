"""The table of runs of every page, and its panel: bars in a column, sorted by value, copied by rows.

Facts that are the same for all rows have no column until a person selects it: a caption shows them once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QTableView, QWidget

from engine.device_info import RECORDED
from engine.results.columns import KERNEL, SPEED_UP, VARIANT, Column, repeated, server_of, table_text
from engine.results.metrics import Compared, Metric
from engine.results.text_forms import MISSING
from gui.runs.cells import BarHeader, RunCells
from gui.runs.model import RECORDED_MARK, RUN_ROLE, RunsModel
from gui.style.metrics import GRID, follow, follow_letters
from gui.widgets.charts import PaintedChart
from gui.widgets.number_table import dress_table
from gui.widgets.panel_parts import NO_ARROW, PlaceholderStack, menu_button

_GROUPS = (
    ("Durations", ("kernel_", "end_to_end_", "compile_", "allocate_", "host_to_device_", "device_to_host_")),
    ("Rates and limits", ("bandwidth_", "compulsory_", "counted_", "gflops", "share_of_", "samples")),
    ("Launch", ("registers_", "shared_bytes", "local_bytes", "occupancy", "waves", "halo_", "idle_")),
    ("Operations and loads", ("model_", "transactions_")),
    ("Proof", ("proof", "max_error", "error_bound")),
    ("Problem and machine", ("picture", "mask", "border", "block", "layout", "device", "operation")),
    # All others.
    ("More", ("",)),
)
COMMON_NUMBERS = (
    *(KERNEL, "end_to_end_median_ms", SPEED_UP, "max_error", "gflops", "model_cgma_flop_per_load"),
    *("model_intensity_flop_per_byte", "occupancy"),
)
COMMON_COLUMNS = (KERNEL, SPEED_UP, "proof", "block", "mask", "picture", "border", "device")
# The longest text that a column should show whole; a longer one is cut with … and whole in the tooltip.
_TYPICAL = {
    "variant": "●  register-blocked",
    "block": "32 × 32",
    "layout": "pitched",
    KERNEL: "not verified",
    SPEED_UP: "1,234× slower",
    "proof": "verified, exact",
    "picture": "4096 × 4096 RGB uint16",
    "mask": "Gaussian 15 × 15",
    "border": "replicate",
    "operation": "hue-shift (degrees=120.0)",
    "device": "simulator",
    "max_error": "Max error",
}
_NUMBER = "0.01234"
# Marks, tooltips and the line over the table say these of recorded runs, for which they need no columns.
_NAMED_OF_RECORDED = "block", "layout", "device"
# Without its name a row says nothing.
_NAME = VARIANT.key
_DRAWN_WIDTH = 720
_LEAST_BARS, _BARS_SHARE = 12 * GRID, 0.18


def fill_metric_menu(
    menu: QMenu,
    entries: Iterable[Column],
    common: Iterable[str],
    is_on: Callable[[Column], bool],
    act: Callable[[Column, bool], object],
) -> list[QAction]:
    """Write entries into a menu, the common ones first; `act` is called where one is switched on or off."""
    by_key, made = {entry.key: entry for entry in entries}, []

    def add(to: QMenu, entry: Column) -> None:
        to.setToolTipsVisible(True)
        action = to.addAction(entry.header)
        action.setToolTip(entry.explanation)
        action.setCheckable(True)
        action.setChecked(is_on(entry))
        action.toggled.connect(lambda on: act(entry, on))
        made.append(action)

    for key in common:
        if key in by_key:
            add(menu, by_key.pop(key))
    menu.addSeparator()
    for title, begin in _GROUPS:
        if keys := [key for key in by_key if key.startswith(begin)]:
            submenu = menu.addMenu(title)
            for key in keys:
                add(submenu, by_key.pop(key))
    return made


class RunsTable(QTableView):
    """By a column's key `shown` overrides whether it is shown at first, `typical` its longest whole text.

    With `best_first` the rows follow the bars until another header is clicked; else they are as in the model.
    """

    copied = Signal(int)  # the number of rows copied to the clipboard
    # The person wants this Measurement as baseline; None: the fastest run of the baseline again.
    baseline_wanted = Signal(object)
    delete_wanted = Signal()  # the person pressed Delete on the selected rows
    caption_changed = Signal(str)  # what is the same for all rows
    menu_made = Signal(QMenu, object)  # the menu of a row, to which more can be added, and its run

    def __init__(
        self,
        model: RunsModel,
        name: str,
        shown: Mapping[str, bool] | None = None,
        typical: Mapping[str, str] | None = None,
        *,
        best_first: bool = False,
    ) -> None:
        super().__init__()
        self._runs = model
        self._at_first = dict(shown or {})
        self.chosen_columns: dict[str, bool] = {}
        """Whether the person wants a column, by its key; only of those that they chose."""
        self.caption = ""
        self.order = model.order
        # Tables that are read by their bars show them, and others all columns that they can.
        self._are_main = best_first
        self._drawn = ""
        self._header = BarHeader(self, model)
        self.setHorizontalHeader(self._header)
        dress_table(self, name)
        self.setModel(self.order)
        self.setSelectionModel(model.selection)
        self._cells = RunCells(self, self._header, model)
        self.setItemDelegate(self._cells)
        self._texts = _TYPICAL | dict(typical or {})
        self._header.setSectionsMovable(True)
        self._header.setSortIndicatorClearable(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_run_menu)
        self.setSortingEnabled(True)
        # As in the model, until a header is clicked.
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        follow(self._show_columns, model.rowsInserted, model.rowsRemoved, model.modelReset)
        for changed in (model.rowsInserted, model.modelReset):
            changed.connect(self._fit_recorded)
        model.headerDataChanged.connect(self._fit_baseline)
        # Once for the many changes of a run.
        self._bar_timer = QTimer(self, singleShot=True, interval=0)
        self._bar_timer.timeout.connect(self._follow_bars)
        of_runs = model.rowsInserted, model.rowsRemoved, model.modelReset, model.dataChanged
        for changed in (*of_runs, model.present_changed, model.bars_changed):
            changed.connect(self._bar_timer.start)
        follow_letters(self, self._fit_columns)
        self._follow_bars()
        if best_first:
            self._sort_by_bars()

    def runs(self, rows: Sequence[int] = ()) -> list[Compared]:
        """Return the runs of some rows, or of all, in the order shown."""
        return [self.order.index(row, 0).data(RUN_ROLE) for row in rows or range(self.order.rowCount())]

    def copy(self, *, every: bool = False) -> None:
        """Copy the selected rows, or all where none is, with the columns in the order shown."""
        rows = () if every else sorted({index.row() for index in self.selectionModel().selectedRows()})
        runs = self.runs(rows)
        columns = [column for at, column in enumerate(self._runs.columns) if not self.isColumnHidden(at)]
        QGuiApplication.clipboard().setText(table_text(columns, runs, self._runs.baseline))
        self.copied.emit(len(runs))

    def choose_columns(self, chosen: Mapping[str, bool]) -> None:
        """Show and hide columns as they were chosen before; a key that is not a column is kept for later."""
        self.chosen_columns = dict(chosen)
        self._show_columns()

    def show_column(self, key: str, shown: bool) -> None:
        self.chosen_columns[key] = shown
        self._show_columns()

    def fill_column_menu(self, menu: QMenu) -> None:
        """Write the columns into a menu; that of the variant names the rows, and stays."""
        columns, runs = (column for column in self._runs.columns if column.key != _NAME), self._runs

        def is_shown(column: Column) -> bool:
            return not self.isColumnHidden(runs.position(column.key))

        fill_metric_menu(
            menu, columns, COMMON_COLUMNS, is_shown, lambda column, on: self.show_column(column.key, on)
        )
        menu.addSeparator()
        menu.addAction("Reset columns").triggered.connect(lambda: self.choose_columns({}))

    def run_menu(self, row: int) -> QMenu:
        menu, model = QMenu(self), self._runs
        (run,) = self.runs([row])
        use = menu.addAction("Use as baseline")
        use.setEnabled(run.result.kernel_ms is not None and model.chosen is not run.result)
        use.triggered.connect(lambda: self.baseline_wanted.emit(run.result))
        if model.chosen is not None:
            fastest = menu.addAction(f"Use the fastest run of {model.baseline} as baseline")
            fastest.triggered.connect(lambda: self.baseline_wanted.emit(None))
        menu.addSeparator()
        menu.addAction("Copy").triggered.connect(lambda: self.copy())
        self.menu_made.emit(menu, run)
        return menu

    def drawing(self) -> PaintedChart:
        """Return the bars of all runs that have one."""
        size = QSize(_DRAWN_WIDTH, self._header.height() + self.rowHeight(0) * len(self._drawn_rows()))

        def paint(painter: QPainter) -> None:
            self._cells.draw(painter, _DRAWN_WIDTH, self._drawn_rows())

        return PaintedChart(self.accessibleName(), size, paint)

    def _drawn_rows(self) -> list[int]:
        bars = self._runs.bars.values
        return [row for row, run in enumerate(self.runs()) if id(run.result) in bars]

    def resizeEvent(self, event: QResizeEvent) -> None:
        # The row that was seen last, such as the newest, is seen in a lower panel too.
        current, before = self.currentIndex(), event.oldSize().height()
        rect = self.visualRect(current)
        super().resizeEvent(event)
        self._fit_bars()
        if rect.isValid() and rect.top() >= 0 and rect.bottom() < before:
            self.scrollTo(current)

    def event(self, event: QEvent) -> bool:
        # Ours before any shortcut of the window: here Ctrl+C means rows.
        if event.type() == QEvent.Type.ShortcutOverride and _is_copy(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_copy(event):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.Delete):
            self.delete_wanted.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.activated.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _open_run_menu(self, position: QPoint) -> None:
        if (index := self.indexAt(position)).isValid():
            self.run_menu(index.row()).popup(self.viewport().mapToGlobal(position))

    def _follow_bars(self) -> None:
        """Have the column with bars beside the name, and the rows in its order if they were in that."""
        key, before = self._runs.bars.metric.key, self._drawn
        if key != before:
            sorted_by = self._header.sortIndicatorSection()
            was_best_first = bool(before) and sorted_by == self._runs.position(before)
            self._drawn = key
            self._header.moveSection(self._header.visualIndex(self._runs.bar_column), 1)
            self._fit_columns()
            if was_best_first:
                self._sort_by_bars()
        self._show_columns()
        widest = self._runs.bars.widest
        self._header.number_width = self.fontMetrics().horizontalAdvance(f"{widest}00") + 2 * GRID
        self._fit_bars()
        self.viewport().update()
        self._header.viewport().update()

    def _sort_by_bars(self) -> None:
        orders, shown = Qt.SortOrder, self._runs.bars.metric
        best_first = orders.DescendingOrder if shown.more_is_better else orders.AscendingOrder
        self.sortByColumn(self._runs.bar_column, best_first)

    def _fit_bars(self) -> None:
        at = self._runs.bar_column
        whole, others = self.viewport().width(), self._header.length() - self.columnWidth(at)
        least = max(_LEAST_BARS, round(_BARS_SHARE * whole) if self._are_main else 0)
        self.setColumnWidth(at, max(self._header.number_width + least, whole - others))

    def _fit_baseline(self) -> None:
        """Make room for the name of the baseline in the header of the speed-ups."""
        at, metrics = self._runs.position(SPEED_UP), self._header.fontMetrics()
        needed = metrics.horizontalAdvance(self._runs.headerData(at, Qt.Orientation.Horizontal)) + 4 * GRID
        self.setColumnWidth(at, max(self.columnWidth(at), needed))

    def _fit_columns(self) -> None:
        for position, one in enumerate(self._runs.columns):
            text = self._texts.get(one.key) or max(one.header, _NUMBER, key=len)
            self.setColumnWidth(position, self.fontMetrics().horizontalAdvance(text) + 3 * GRID)
        self._fit_baseline()
        self._fit_recorded()
        self._fit_bars()

    def _fit_recorded(self) -> None:
        """Make room for names and devices of runs of other machines, once there are some."""
        device = self._runs.columns[self._runs.position("device")]
        for run in self._runs.rows():
            if run.result.device == RECORDED:
                self._widen("variant", f"●  {run.result.variant}{RECORDED_MARK}")
            if run.result.device == RECORDED or server_of(run.result):
                self._widen("device", device.text(run))

    def _widen(self, key: str, text: str) -> None:
        at = self._runs.position(key)
        needed = self.fontMetrics().horizontalAdvance(text) + 3 * GRID
        self.setColumnWidth(at, max(self.columnWidth(at), needed))

    def _show_columns(self) -> None:
        runs = self._runs.rows()
        own = [run for run in runs if run.result.device != RECORDED]
        repeated_facts, of_own = (repeated(self._runs.columns, some) for some in (runs, own))
        for position, column in enumerate(self._runs.columns):
            is_named = column.key in _NAMED_OF_RECORDED
            counted, same = (own, of_own) if is_named else (runs, repeated_facts)
            at_first = self._at_first.get(column.key, column.shown) and column.key not in same
            at_first = at_first and (
                not runs or any(self._runs.text(column, run) != MISSING for run in counted)
            )
            is_shown = column.key in (_NAME, self._drawn) or self.chosen_columns.get(column.key, at_first)
            self.setColumnHidden(position, not is_shown)
        self._fit_bars()
        texts = (text for key, text in repeated_facts.items() if not self.chosen_columns.get(key, False))
        caption = " · ".join(filter(None, texts))
        if caption != self.caption:
            self.caption = caption
            self.caption_changed.emit(caption)


def _is_copy(event: QEvent) -> bool:
    return isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)


_MORE_TIP = "What the bars show, columns, copies, files."


class RunsPanel(QWidget):
    """Shows a table of a `RunsModel`, or `empty` in its place; a subclass lays out `more` and `stack`."""

    save_wanted = Signal()  # the person wants the bars in a file

    def __init__(self, model: RunsModel, table: RunsTable, empty: str) -> None:
        super().__init__()
        self.model, self.table, name = model, table, table.accessibleName()
        self.table.baseline_wanted.connect(model.use_as_baseline)
        self.page_actions: Sequence[QAction] = ()
        """Those that are in the menu too, such as those that save the runs."""
        self.menu = QMenu()
        self.menu.aboutToShow.connect(self.fill_menu)
        self.more = menu_button("⋯", f"{name}: more", _MORE_TIP, self.menu)
        self.more.setAutoRaise(True)
        self.more.setStyleSheet(NO_ARROW)
        # Before it is laid out: shown without a parent it would be a window.
        self.more.setParent(self)
        self._empty = empty
        self.stack = PlaceholderStack(self.table)
        follow(self._enable, model.rowsInserted, model.rowsRemoved, model.modelReset, model.dataChanged)

    def fill_menu(self) -> None:
        """Write the menu: what the bars show, which columns there are, then pictures and the actions."""
        menu = self.menu
        menu.clear()
        # The numbers of runs, of which one is drawn.
        model, group = self.model, QActionGroup(menu)
        drawn, numbers = model.bars.metric.key, (one for one in model.columns if isinstance(one, Metric))

        def draw(number: Column, is_on: bool) -> None:
            if is_on:
                model.draw(number.key)

        bars = menu.addMenu("Bars")
        for action in fill_metric_menu(bars, numbers, COMMON_NUMBERS, lambda one: one.key == drawn, draw):
            group.addAction(action)
        self.table.fill_column_menu(menu.addMenu("Columns"))
        menu.addSeparator()
        copies = menu.addAction("Copy bars as picture", self.copy_picture)
        saves = menu.addAction("Save bars as PNG or SVG…", lambda: self.save_wanted.emit())
        for action in (copies, saves):
            action.setEnabled(bool(model.bars.values))
        menu.addActions(self.page_actions)

    def copy_picture(self) -> None:
        """Put the bars on the clipboard, with all their rows."""
        QGuiApplication.clipboard().setPixmap(self.table.drawing().pixmap())

    def explain_empty(self, words: str) -> None:
        """Show another sentence on what the table will hold."""
        self._empty = words
        self._enable()

    def _enable(self) -> None:
        has_rows = self.model.rowCount() > 0
        self.stack.say("" if has_rows else self._empty)
        # What nothing can be done with yet is not shown.
        self.more.setVisible(has_rows)
