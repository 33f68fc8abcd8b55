"""Runs of one or more tasks as a table model: every metric and fact is a column. No widgets in here."""

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)

from engine.device_info import RECORDED
from engine.results.columns import KERNEL, SPEED_UP, Column, columns_of
from engine.results.compare import Compared, compared
from engine.results.measurement import Measurement
from engine.results.problem import TaskProblem
from engine.results.quantities import duration_text, ratio_text
from gui.widgets.run_tooltip import no_speed_sentence, run_tooltip

Index = QModelIndex | QPersistentModelIndex
Run = Measurement[Any]

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
    """A row for each run of some kinds of problem; subclasses add the runs.

    `first` has the keys of the first columns.

    It emits Qt's rowsInserted for new runs, modelReset for others, and headerDataChanged and dataChanged for
    another baseline.
    """

    # Other runs than before are for the problem that is set now.
    present_changed = Signal()

    def __init__(
        self, problems: Iterable[type[TaskProblem]], baseline: str, first: Iterable[str] = ()
    ) -> None:
        super().__init__()
        self.columns: tuple[Column, ...] = columns_of(*problems, first=first)
        self._results: list[Run] = []
        self._runs: list[Compared] = []
        self.baseline = baseline
        """Key of the variant that speed-ups are measured against."""
        self._chosen: dict[str, Run] = {}

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
    def can_clear(self) -> bool:
        """Whether there are runs that can be forgotten."""
        return bool(self._runs)

    def clear(self) -> None:
        """Forget all runs."""
        raise NotImplementedError

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
        """Return whether a run is for an earlier problem than the one that is set now; by default none is."""
        return False

    def note_of(self, result: Run) -> str:
        """Return what a person has noted about a run; by default nothing can be."""
        return ""

    def is_pinned(self, result: Run) -> bool:
        """Whether a run stays on top; by default none does."""
        return False

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        run, column = self._runs[index.row()], self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            if column.key == "proof" and run.result.is_refuted:
                return run.result.short_status
            no_speed = run.result.no_speed if column.key == KERNEL else ""
            # Before a product has run, show what can be counted.
            return column.text(run) if no_speed in ("", "not run yet") else no_speed
        if role == SORT_ROLE:
            return column.sort(run)
        if role == RUN_ROLE:
            return run
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.is_number else _LEFT
        return self._tooltip(column.key, run) if role == Qt.ItemDataRole.ToolTipRole else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            return str(section + 1) if role == Qt.ItemDataRole.DisplayRole else None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"Speed-up\nvs {self.baseline}" if column.key == SPEED_UP else column.header
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.is_number else _LEFT
        return column.explanation if role == Qt.ItemDataRole.ToolTipRole else None

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
        if key == "proof":
            return run.result.status
        if key != SPEED_UP:
            return run_tooltip(run)
        if run.speed_up is not None and run.baseline is not None:
            return (
                f"{ratio_text(run.speed_up)}: {duration_text(run.result.kernel_ms or 0.0)} against "
                f"{duration_text(run.baseline.kernel_ms or 0.0)} of {baseline_name(run)}."
            )
        return no_speed_sentence(run.result) or (
            f"Run {self.baseline} on the same problem (size, channels, types, weights, anchor, border) to "
            "compare, on a GPU with rows in the same layout."
        )


def by_reason(failed: Iterable[Run]) -> dict[str, list[str]]:
    """Return in a few words why runs failed, and the variants of each reason."""
    found: dict[str, dict[str, None]] = {}
    for result in failed:
        found.setdefault(result.short_status, {})[result.variant] = None
    return {why: list(variants) for why, variants in found.items()}


def baseline_name(run: Compared) -> str:
    """Return which run a speed-up is against: run 3 (tiled, block 16 x 16)."""
    if run.baseline is None:
        return ""
    block = f", block {run.baseline.block}" if run.baseline.block else ""
    return f"run {run.baseline_run} ({run.baseline.variant}{block})"


class RunsOrder(QSortFilterProxyModel):
    """Sorts runs by value, not by text; rows without a value come last in either direction.

    Pinned ones come first. Without a column runs are in the order of their model; with `newest_first` the
    newest one is on top, and recorded ones, which stand at the end of the model, stay below.
    """

    def __init__(self, parent: QObject | None = None, *, newest_first: bool = False) -> None:
        super().__init__(parent)
        self._newest_first = newest_first
        self._by_arrival = False

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._by_arrival = column < 0 and self._newest_first
        if self._by_arrival:
            # Qt sorts by no column only what it has sorted before.
            self.invalidate()
            super().sort(0, Qt.SortOrder.AscendingOrder)
        else:
            super().sort(column, order)

    def lessThan(self, left: Index, right: Index) -> bool:
        model = self.sourceModel()
        assert isinstance(model, RunsModel)
        ascending = self.sortOrder() == Qt.SortOrder.AscendingOrder
        one, other = (index.data(RUN_ROLE).result for index in (left, right))
        is_pinned = model.is_pinned(one), model.is_pinned(other)
        if is_pinned[0] != is_pinned[1]:
            return is_pinned[0] == ascending
        if self._by_arrival:
            are_recorded = one.device == RECORDED, other.device == RECORDED
            if are_recorded[0] or are_recorded[1]:
                return are_recorded[1] if are_recorded[0] != are_recorded[1] else left.row() < right.row()
            return left.row() > right.row()
        a, b = left.data(SORT_ROLE), right.data(SORT_ROLE)
        a_missing, b_missing = _is_missing(a), _is_missing(b)
        if a_missing or b_missing:
            return a_missing != b_missing and b_missing == ascending
        return bool(a < b)


def _is_missing(value: object) -> bool:
    return value is None or value != value
