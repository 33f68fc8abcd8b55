"""The table of runs of every page: sorted by value, copied by rows, with a choice of columns in its header.

Facts that are the same for all rows have no column: a caption shows them once, until the person selects
it.
"""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from engine.device_info import RECORDED
from engine.results.columns import KERNEL, SPEED_UP, Column, repeated, server_of, table_text
from engine.results.compare import Compared
from engine.results.metrics import Metric
from gui.style.letters import follow_letters
from gui.style.metrics import GRID
from gui.style.series import series_for
from gui.style.theme import Theme, current_theme
from gui.widgets.metric_menu import COMMON_COLUMNS, fill_metric_menu
from gui.widgets.panel_parts import dress_table
from gui.widgets.runs_model import PIN, RECORDED_MARK, RUN_ROLE, RunsModel, RunsOrder

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
# Without its name a row says nothing.
_NAME = "variant"


class RunsTable(QTableView):
    """A table of runs.

    With `newest_first` the newest run stands on top, as long as no header is clicked.
    By the key of a column, `shown` overrides whether it is shown at first, `typical` the longest text that it
    should show whole.
    """

    copied = Signal(int)  # the number of rows copied to the clipboard
    # The person wants this Measurement as baseline; None: the fastest run of the baseline again.
    baseline_asked = Signal(object)
    delete_asked = Signal()  # the person pressed Delete on the selected rows
    caption_changed = Signal(str)  # what is the same for all rows
    menu_made = Signal(QMenu, object)  # the menu of a row, to which more can be added, and its run

    def __init__(
        self,
        model: RunsModel,
        name: str,
        shown: Mapping[str, bool] | None = None,
        typical: Mapping[str, str] | None = None,
        *,
        newest_first: bool = False,
    ) -> None:
        super().__init__()
        self._runs = model
        self._at_first = dict(shown or {})
        self._wanted: dict[str, bool] = {}
        self.caption = ""
        self.order = RunsOrder(self, newest_first=newest_first)
        self.order.setSourceModel(model)
        dress_table(self, name)
        self.setModel(self.order)
        self.setItemDelegate(_RunCells(model))
        self._texts = _TYPICAL | dict(typical or {})
        self._set_up_header()
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_run_menu)
        self.setSortingEnabled(True)
        # As they arrived, until a header is clicked.
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        for signal in (model.rowsInserted, model.rowsRemoved, model.modelReset):
            signal.connect(self._show_columns)
        for changed in (model.rowsInserted, model.modelReset):
            changed.connect(self._fit_recorded)
        model.headerDataChanged.connect(self._fit_baseline)
        model.present_changed.connect(self.viewport().update)
        self._show_columns()
        follow_letters(self, self._fit_columns)

    def runs(self, rows: Sequence[int] = ()) -> list[Compared]:
        """Return the runs of some rows, or of all, in the order shown."""
        return [self.order.index(row, 0).data(RUN_ROLE) for row in rows or range(self.order.rowCount())]

    def copy(self) -> None:
        """Copy the selected rows, or all where none is selected, with the columns in the order shown."""
        self._copy(self.runs(sorted({index.row() for index in self.selectionModel().selectedRows()})))

    def copy_all(self) -> None:
        """Copy all rows, whichever are selected."""
        self._copy(self.runs())

    def _copy(self, runs: Sequence[Compared]) -> None:
        QGuiApplication.clipboard().setText(table_text(self._columns_shown(), runs, self._runs.baseline))
        self.copied.emit(len(runs))

    @property
    def chosen_columns(self) -> dict[str, bool]:
        """Whether the person wants a column, by its key; only of those that they chose."""
        return dict(self._wanted)

    def choose_columns(self, chosen: Mapping[str, bool]) -> None:
        """Show and hide columns as they were chosen before; a key that is not a column is kept for later."""
        self._wanted = dict(chosen)
        self._show_columns()

    def show_column(self, key: str, shown: bool) -> None:
        """Show or hide a column from now on."""
        self._wanted[key] = shown
        self._show_columns()

    def column_menu(self) -> QMenu:
        """Return the menu of columns; that of the variant names the rows, and stays."""
        menu = QMenu(self)
        menu.setToolTipsVisible(True)

        def dress(action: QAction, column: Column) -> None:
            action.setToolTip(column.explanation)
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(self._runs.position(column.key)))
            action.toggled.connect(lambda shown: self.show_column(column.key, shown))

        columns = (column for column in self._runs.columns if column.key != _NAME)
        fill_metric_menu(menu, columns, COMMON_COLUMNS, dress)
        menu.addSeparator()
        menu.addAction("Reset columns").triggered.connect(self._show_first_columns)
        return menu

    def run_menu(self, row: int) -> QMenu:
        menu = QMenu(self)
        (run,) = self.runs([row])
        use = menu.addAction("Use as baseline")
        use.setEnabled(run.result.kernel_ms is not None and self._runs.chosen is not run.result)
        use.triggered.connect(lambda: self.baseline_asked.emit(run.result))
        if self._runs.chosen is not None:
            fastest = menu.addAction(f"Use the fastest run of {self._runs.baseline} as baseline")
            fastest.triggered.connect(lambda: self.baseline_asked.emit(None))
        menu.addSeparator()
        menu.addAction("Copy").triggered.connect(self.copy)
        self.menu_made.emit(menu, run)
        return menu

    def resizeEvent(self, event: QResizeEvent) -> None:
        # The row that was seen last, such as the newest, is seen in a lower panel too.
        current, before = self.currentIndex(), event.oldSize().height()
        rect = self.visualRect(current)
        super().resizeEvent(event)
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
            self.delete_asked.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.activated.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _set_up_header(self) -> None:
        header = self.horizontalHeader()
        header.setSectionsMovable(True)
        header.setSortIndicatorClearable(True)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(
            lambda position: self.column_menu().popup(header.mapToGlobal(position))
        )

    def _open_run_menu(self, position: QPoint) -> None:
        index: QModelIndex = self.indexAt(position)
        if index.isValid():
            self.run_menu(index.row()).popup(self.viewport().mapToGlobal(position))

    def _columns_shown(self) -> list[Column]:
        columns = enumerate(self._runs.columns)
        return [column for position, column in columns if not self.isColumnHidden(position)]

    def _fit_baseline(self) -> None:
        """Make room for the name of the baseline in the header of the speed-ups."""
        at, metrics = self._runs.position(SPEED_UP), self.horizontalHeader().fontMetrics()
        # Qt's own hint has both lines one after the other.
        lines = self._runs.headerData(at, Qt.Orientation.Horizontal).splitlines()
        needed = max(map(metrics.horizontalAdvance, lines)) + 4 * GRID
        self.setColumnWidth(at, max(self.columnWidth(at), needed))

    def _fit_columns(self) -> None:
        for position, one in enumerate(self._runs.columns):
            text = self._texts.get(one.key) or max(one.header, _NUMBER, key=len)
            self.setColumnWidth(position, self.fontMetrics().horizontalAdvance(text) + 3 * GRID)
        self._fit_baseline()
        self._fit_recorded()

    def _fit_recorded(self) -> None:
        """Make room for names and devices of runs of other machines, once there are some."""
        device = next(column for column in self._runs.columns if column.key == "device")
        for run in self._runs.rows():
            if run.result.device == RECORDED:
                self._widen("variant", f"●  {run.result.variant}{RECORDED_MARK}")
            if run.result.device == RECORDED or server_of(run.result):
                self._widen("device", device.text(run))

    def _widen(self, key: str, text: str) -> None:
        at = self._runs.position(key)
        needed = self.fontMetrics().horizontalAdvance(text) + 3 * GRID
        self.setColumnWidth(at, max(self.columnWidth(at), needed))

    def _show_first_columns(self) -> None:
        self._wanted.clear()
        self._show_columns()

    def _show_columns(self) -> None:
        repeated_facts = repeated(self._runs.columns, self._runs.rows())
        for position, column in enumerate(self._runs.columns):
            at_first = self._at_first.get(column.key, column.shown) and column.key not in repeated_facts
            is_shown = column.key == _NAME or self._wanted.get(column.key, at_first)
            self.setColumnHidden(position, not is_shown)
        caption = " · ".join(
            text for key, text in repeated_facts.items() if text and not self._wanted.get(key, False)
        )
        if caption != self.caption:
            self.caption = caption
            self.caption_changed.emit(caption)


def _is_copy(event: QEvent) -> bool:
    return isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)


class _RunCells(QStyledItemDelegate):
    """Paints the shape of a variant, and a proof in the colour of its state."""

    def __init__(self, model: RunsModel) -> None:
        super().__init__(model)
        self._runs = model
        self._columns = model.columns

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        run, column = index.data(RUN_ROLE), self._columns[index.column()]
        theme = current_theme()
        is_earlier = self._runs.is_earlier(run.result)
        colour = theme.muted if is_earlier else _text_colour(column, run, theme)
        option.palette.setColor(QPalette.ColorRole.Text, QColor(colour))
        if is_earlier:
            # Selected it is dimmed too.
            option.palette.setColor(QPalette.ColorRole.Highlight, QColor(theme.raised))
            option.palette.setColor(QPalette.ColorRole.HighlightedText, QColor(theme.muted))
        # Upright is what this machine measured.
        option.font.setItalic(run.result.device == RECORDED)
        if column.key == "variant":
            # Room for the shape, which `paint` adds in its own colour.
            space = max(1, option.fontMetrics.horizontalAdvance(" "))
            mark = RECORDED_MARK if run.result.device == RECORDED else ""
            note = self._runs.note_of(run.result)
            pin = f"{PIN} " if self._runs.is_pinned(run.result) else ""
            option.text = (
                f"{' ' * round(2 * GRID / space + 1)}{pin}{option.text}{mark}{f' – {note}' if note else ''}"
            )

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        if self._columns[index.column()].key != "variant":
            return
        result, theme = index.data(RUN_ROLE).result, current_theme()
        series = series_for(result.variant)
        colour = theme.muted if result.refused else series.colour
        if option.state & QStyle.StateFlag.State_Selected:
            colour = theme.accent_text
        if self._runs.is_earlier(result):
            colour = theme.muted
        painter.save()
        painter.setPen(QColor(colour))
        area = option.rect.adjusted(GRID, 0, -GRID, 0)
        painter.drawText(area, int(option.displayAlignment), series.glyph)
        painter.restore()


def _text_colour(column: Column, run: Compared, theme: Theme) -> str:
    result = run.result
    was_tried = not result.refused and result.no_speed != "not run yet"
    if column.key == "proof" and was_tried:
        return theme.good if result.is_proven else theme.error
    if column.key == KERNEL and was_tried and result.no_speed:
        return theme.muted if result.is_proven else theme.error
    # What was only counted is as good as ever.
    counted = isinstance(column, Metric) and column.value(run) is not None
    return theme.text if was_tried or counted else theme.muted
