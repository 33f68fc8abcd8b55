"""Runs of one or more tasks as a table model: every metric and fact is a column. No widgets in here."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)

from engine.device_info import RECORDED
from engine.results.columns import KERNEL, SPEED_UP, VARIANT, Column, columns_of, layout_suffix
from engine.results.metrics import AnyMetric, Compared, Metric, compared
from engine.results.problem import TaskProblem
from engine.results.text_forms import duration_text, ratio_text
from gui.runs.bars import (
    CGMA,
    READING,
    Bars,
    Kept,
    Placed,
    Run,
    bars_of,
    needs_time,
    no_speed_sentence,
    number_sentence,
    number_text,
    run_heading,
)
from gui.style.metrics import follow
from gui.widgets.charts import Bar

Index = QModelIndex | QPersistentModelIndex

SORT_ROLE = Qt.ItemDataRole.UserRole
RUN_ROLE = Qt.ItemDataRole.UserRole + 1

RECORDED_MARK = " (rec)"
"""Follows the name of a variant where another machine ran it."""

PIN = "⚑"
"""Stands before the name of a run that was pinned."""

_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_NO_PARENT = QModelIndex()


class RunsModel(QAbstractTableModel):
    """Keeps runs of some kinds of problem, and has a row for each; subclasses say which of them are shown.

    `first` has the keys of the first columns, `teaching` returns the variants in their order. All views share
    `order` and `selection`. Another baseline is announced by headerDataChanged and dataChanged.
    """

    # Other runs than before are for the problem that is set now.
    present_changed = Signal()
    bars_changed = Signal()  # another number is drawn
    pin_or_note_changed = Signal()  # a run was pinned, or got a note

    def __init__(
        self,
        problems: Iterable[type[TaskProblem]],
        baseline: str,
        first: Iterable[str] = (),
        teaching: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        super().__init__()
        self.columns: tuple[Column, ...] = columns_of(*problems, first=first)
        self._by_key = {column.key: column for column in self.columns}
        self._teaching = teaching
        self._kept: list[Kept] = []
        # By the identity of its result.
        self._kept_of: dict[int, Kept] = {}
        self.present: Hashable = None
        """What runs share that are for the problem that is set now; None where none is for an earlier one."""
        # What has a row, and the same compared.
        self._results: list[Run] = []
        self._runs: list[Compared] = []
        self.baseline = baseline
        """Key of the variant that speed-ups are measured against."""
        self._chosen: dict[str, Run] = {}
        self.bar_key = KERNEL
        """Key of the number that the person wants as bars."""
        self._bars: Bars | None = None
        of_rows = self.rowsInserted, self.rowsRemoved, self.modelReset, self.dataChanged
        follow(self._forget_bars, *of_rows, self.present_changed)
        # Children of this model would be deleted before it where garbage is collected, which crashed.
        self.order = RunsOrder(self)
        self.selection = QItemSelectionModel(self.order)

    @property
    def bars(self) -> Bars:
        """What is drawn of the runs: a count where a time is wanted and runs are simulated."""
        if self._bars is None:
            shown, count = self._by_key[self.bar_key], self._by_key.get(CGMA)
            if self.are_simulated and isinstance(count, Metric) and needs_time(self._metric(shown)):
                shown = count
            runs = self.drawn_runs()
            timed = runs if shown.key == KERNEL else []
            parts = {id(run.result): of_run for run in timed if (of_run := self.parts_of(run.result))}
            self._bars = bars_of(self._metric(shown), runs, self._by_key, parts)
        return self._bars

    @property
    def bar_column(self) -> int:
        return self.position(self.bars.metric.key)

    def draw(self, key: str) -> None:
        self.bar_key, self._bars = key, None
        self.bars_changed.emit()

    def drawn_runs(self) -> list[Compared]:
        """Return the runs that have a bar, if they have the number; by default all."""
        return self._runs

    def parts_of(self, result: Run) -> tuple[Bar, ...]:
        """Return what the time of a run is made of, each as a share of all; by default nothing is known."""
        return ()

    @property
    def are_simulated(self) -> bool:
        """Whether the runs have no times because the simulator made them."""
        words = {run.result.no_speed for run in self._runs}
        return "simulated" in words and "" not in words

    def _metric(self, column: Column) -> AnyMetric:
        assert isinstance(column, Metric)
        return column

    def _forget_bars(self) -> None:
        self._bars = None

    def select(self, wanted: Callable[[Run], bool], *, alone: bool = False) -> None:
        """Select the rows of these runs, unless they are among the selected; with `alone` exactly these."""
        order, selection = self.order, self.selection
        rows = [row for row in range(order.rowCount()) if wanted(order.index(row, 0).data(RUN_ROLE).result)]
        selected = {index.row() for index in selection.selectedRows()}
        if rows and (selected == set(rows) if alone else selected.issuperset(rows)):
            return
        chosen = QItemSelection()
        for row in rows:
            chosen.select(order.index(row, 0), order.index(row, order.columnCount() - 1))
        if rows:
            selection.setCurrentIndex(order.index(rows[0], 0), QItemSelectionModel.SelectionFlag.NoUpdate)
        selection.select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    @property
    def selected(self) -> tuple[Compared, ...]:
        """The selected runs, in the order shown."""
        rows = sorted(self.selection.selectedRows(), key=lambda index: index.row())
        return tuple(index.data(RUN_ROLE) for index in rows)

    @property
    def chosen(self) -> Run | None:
        """The run that is the baseline of its own problem; None: the fastest run of the baseline is."""
        run = self._chosen.get(self.baseline)
        return run if any(run is known for known in self._results) else None

    def results(self) -> tuple[Run, ...]:
        """All results, oldest first."""
        return tuple(self._results)

    def rows(self) -> tuple[Compared, ...]:
        """All results with the runs that they are compared with, oldest first."""
        return tuple(self._runs)

    def tried(self) -> tuple[Compared, ...]:
        """Return the rows that a file of results has: all but what was only counted."""
        return tuple(run for run in self._runs if run.result.no_speed != "not run yet")

    @property
    def kept(self) -> tuple[Kept, ...]:
        """The runs of this machine, oldest first."""
        return tuple(self._kept)

    @property
    def clearable(self) -> tuple[Kept, ...]:
        """The runs that Clear forgets."""
        return self.kept

    def kept_of(self, result: Run) -> Kept | None:
        """Return what is kept of a result; None where it was recorded or only listed."""
        return self._kept_of.get(id(result))

    def take_out(self, runs: Iterable[Kept]) -> tuple[Placed, ...]:
        """Forget runs; return those that were there, each with its place."""
        wanted = set(map(id, runs))
        gone = tuple((at, run) for at, run in enumerate(self._kept) if id(run) in wanted)
        if gone:
            self._keep([run for run in self._kept if id(run) not in wanted])
        return gone

    def put_back(self, runs: Iterable[Placed]) -> None:
        """Have runs again, each in its place."""
        kept = list(self._kept)
        for at, run in sorted(runs, key=itemgetter(0)):
            kept.insert(at, run)
        if len(kept) > len(self._kept):
            self._keep(kept)

    def _keep(self, kept: list[Kept]) -> None:
        self._kept, self._kept_of = kept, {id(run.result): run for run in kept}
        self._show_kept()

    def _show_kept(self) -> None:
        raise NotImplementedError

    def _show_results(self, results: list[Run]) -> None:
        self.beginResetModel()
        self._results = results
        self._runs = compared(results, self.baseline, self.chosen)
        self.endResetModel()

    def position(self, key: str) -> int:
        return [column.key for column in self.columns].index(key)

    def set_baseline(self, variant: str) -> None:
        """Measure speed-ups against the fastest run of another variant."""
        if variant != self.baseline:
            self.baseline = variant
            self._show_baseline()

    def use_as_baseline(self, run: Run | None) -> None:
        """Measure speed-ups of a run's problem against exactly that run; None: against the fastest again."""
        if run is not None:
            self.baseline = run.variant
            self._chosen[run.variant] = run
        else:
            self._chosen.pop(self.baseline, None)
        self._show_baseline()

    def is_earlier(self, result: Run) -> bool:
        """Return whether a run is for an earlier problem than the one that is set now."""
        kept = self.kept_of(result)
        return kept is not None and self.present not in (None, kept.problem)

    def note_of(self, result: Run) -> str:
        kept = self.kept_of(result)
        return kept.note if kept else ""

    def is_pinned(self, result: Run) -> bool:
        """Whether a run stays on top."""
        kept = self.kept_of(result)
        return kept is not None and kept.is_pinned

    def set_note(self, result: Run, note: str) -> None:
        self._say(result, "note", " ".join(note.split()))

    def pin(self, result: Run, is_pinned: bool) -> None:
        """Keep a run on top, or no more."""
        self._say(result, "is_pinned", is_pinned)

    def _say(self, result: Run, field: str, value: object) -> None:
        # A recorded run comes and goes with the problem.
        if (kept := self.kept_of(result)) is not None:
            setattr(kept, field, value)
            self._compare()
            self.pin_or_note_changed.emit()

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        run, column = self._runs[index.row()], self.columns[index.column()]
        roles = Qt.ItemDataRole
        match role:
            case roles.DisplayRole:
                return self.text(column, run)
            case roles.TextAlignmentRole:
                return _RIGHT if column.is_number else _LEFT
            case roles.ToolTipRole:
                return self._tooltip(column.key, run)
            case roles.AccessibleTextRole if column.key == VARIANT.key:
                return self.words(run)
        if role == RUN_ROLE:
            return run
        return self._sort_key(column, run) if role == SORT_ROLE else None

    def text(self, column: Column, run: Compared) -> str:
        if column.key == "proof":
            result = run.result
            # Why there is no time is shown instead of the time.
            proof = result.proof.removesuffix(f", {result.no_speed}")
            return result.short_status if result.is_refuted else proof
        no_speed = run.result.no_speed if column.key == KERNEL else ""
        # Before a product has run, show what can be counted.
        return number_text(column, run) if no_speed in ("", "not run yet") else no_speed

    def _sort_key(self, column: Column, run: Compared) -> str | float | None:
        if column.key == VARIANT.key and run.result.variant in (taught := list(self._teaching())):
            return f"{taught.index(run.result.variant):04}"
        return column.sort(run)

    def words(self, run: Compared) -> str:
        """Return a row as a sentence, for screen readers."""
        result, shown = run.result, self.bars.metric
        block = f" {result.block}" if result.block else ""
        recorded = RECORDED_MARK if result.device == RECORDED else ""
        number = result.no_speed if needs_time(shown) and result.no_speed else number_text(shown, run)
        unit = "" if shown.unit == "ms" else f" {shown.unit}".rstrip()
        parts = [f"{result.variant}{block}{layout_suffix(result)}{recorded}: {number}{unit}"]
        if run.speed_up is not None:
            parts.append(f"{ratio_text(run.speed_up)} against {self.baseline}")
        return ", ".join(filter(None, (*parts, self.note_of(result))))

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            return str(section + 1) if role == Qt.ItemDataRole.DisplayRole else None
        column = self.columns[section]
        bars = self.bars if column.key == self.bars.metric.key else None
        axis = ", log" if bars is not None and bars.ticks and bars.scale.is_log else ""
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return f"{self._head(column)}{axis}"
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if column.is_number else _LEFT
            case Qt.ItemDataRole.ToolTipRole if bars is not None and bars.parts:
                return f"{column.explanation} Bars are shares of it, all as wide: the numbers compare runs."
            case Qt.ItemDataRole.ToolTipRole if bars is not None:
                drawn = f" The axis of the bars is {'logarithmic' if axis else 'linear, from 0'}."
                return f"{column.explanation}{drawn} {READING if bars.spreads else ''}".rstrip()
            case Qt.ItemDataRole.ToolTipRole:
                return column.explanation
        return None

    def _head(self, column: Column) -> str:
        heads = {VARIANT.key: "Kernel", KERNEL: "Time", SPEED_UP: f"vs {self.baseline}", CGMA: "Ops per load"}
        is_duration = isinstance(column, Metric) and column.unit == "ms"
        return heads.get(column.key) or (column.header.removesuffix(", ms") if is_duration else column.header)

    def _compare(self) -> None:
        """Compare all runs anew; the number of rows is the same."""
        self._runs = compared(self._results, self.baseline, self.chosen)
        self._say_compared()

    def _say_compared(self) -> None:
        if self._runs:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._runs) - 1, len(self.columns) - 1))

    def _show_baseline(self) -> None:
        column = self.position(SPEED_UP)
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, column, column)
        self._compare()

    def _tooltip(self, key: str, run: Compared) -> str:
        """Return what a cell has no room for, in so few lines that the rows below stay readable."""
        if key == VARIANT.key:
            return run_heading(run.result)
        if key == "proof":
            return run.result.status
        if key != SPEED_UP:
            metric = self._by_key[key]
            has_number = isinstance(metric, Metric) and metric.value(run) is not None
            return number_sentence(run, self._metric(metric)) if has_number else no_speed_sentence(run.result)
        if run.speed_up is not None and (baseline := run.baseline) is not None:
            block = f", block {baseline.block}" if baseline.block else ""
            return (
                f"{ratio_text(run.speed_up)}: {duration_text(run.result.kernel_ms or 0.0)} against "
                f"{duration_text(baseline.kernel_ms or 0.0)} of run {run.baseline_run} "
                f"({baseline.variant}{block})."
            )
        return no_speed_sentence(run.result) or (
            f"Run {self.baseline} on the same problem (size, channels, types, weights, anchor, border) to "
            "compare, on a GPU with rows in the same layout."
        )


class RunsOrder(QSortFilterProxyModel):
    """Sorts runs by value: pinned ones first, earlier problems last; what has no value after what has one."""

    def __init__(self, model: RunsModel) -> None:
        super().__init__()
        self._by_arrival = True
        self.setSourceModel(model)
        model.present_changed.connect(self.invalidate)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        was_by_arrival, self._by_arrival = self._by_arrival, column < 0
        if was_by_arrival != self._by_arrival:
            self.invalidate()
        # Qt sorts by no column only what it has sorted before.
        super().sort(max(0, column), order if column >= 0 else Qt.SortOrder.AscendingOrder)

    def lessThan(self, left: Index, right: Index) -> bool:
        model = self.sourceModel()
        assert isinstance(model, RunsModel)
        ascending = self.sortOrder() == Qt.SortOrder.AscendingOrder
        one, other = (index.data(RUN_ROLE).result for index in (left, right))
        ranks = [(model.is_pinned(run), not model.is_earlier(run)) for run in (one, other)]
        if ranks[0] != ranks[1]:
            return (ranks[0] > ranks[1]) == ascending
        if self._by_arrival:
            return left.row() < right.row()
        a, b = left.data(SORT_ROLE), right.data(SORT_ROLE)
        a_missing, b_missing = _is_missing(a), _is_missing(b)
        if a_missing or b_missing:
            return a_missing != b_missing and b_missing == ascending
        return bool(a < b)


def _is_missing(value: object) -> bool:
    return value is None or value != value
