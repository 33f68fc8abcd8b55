"""What is known of each kernel with each block on the newest problem: measured, waiting, refused. No widgets.

The runs are those of the results; a run of several blocks adds what is still to come and what cannot be.
"""

from collections.abc import Hashable, Iterable

from PySide6.QtCore import QModelIndex, QObject, QTimer, Signal

from engine.geometry.block import Block
from engine.host.protocol import Availability
from engine.reason import Reason
from engine.results.compare import Compared, comparable
from engine.work.filtering.problem import Problem
from engine.work.filtering.results import RunResult
from engine.work.messages import PictureJob
from gui.explore.picture_job import comparable_of
from gui.explore.results.results_model import ResultsModel

Cells = dict[Block, Compared | Reason | None]
"""By block the newest run of a kernel; the reason where it is refused; None where it waits for its turn."""

# The problem with the weights, and the layout of the rows.
_Key = tuple[Hashable, str]


class BlockCells(QObject):
    """The cells of the newest problem and layout, by kernel and block."""

    changed = Signal()  # once per turn of the event loop

    def __init__(self, results: ResultsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.results = results
        self._key: _Key | None = None
        self._planned_for: _Key | None = None
        self._planned: dict[tuple[str, Block], Reason | None] = {}
        self._cells: dict[str, Cells] | None = {}
        self.newest: RunResult | None = None
        """The newest run of the problem; None before the first."""
        self._change_timer = QTimer(self, singleShot=True, interval=0)
        self._change_timer.timeout.connect(self.changed)
        results.rowsInserted.connect(self._follow_newest)
        results.modelReset.connect(self._forget)
        results.dataChanged.connect(self._refresh)
        results.present_changed.connect(self._change_timer.start)

    @property
    def is_earlier(self) -> bool:
        """Whether they are for another problem than the one that is set now."""
        return self._key is not None and self.results.present not in (None, self._key[0])

    def plan(self, job: PictureJob, entries: Iterable[Availability]) -> None:
        """Note what a run of several blocks is going to do, and what it cannot."""
        key = comparable_of(job), str(job.layout)
        if key != self._key:
            self.newest = None
        self._key = self._planned_for = key
        self._planned = {
            (entry.variant, entry.block): entry.reason for entry in entries if entry.block is not None
        }
        self._refresh()

    def end_plan(self) -> None:
        """Note that the run is over: what still waits was stopped."""
        self._planned = {at: reason for at, reason in self._planned.items() if reason}
        self._refresh()

    def all(self) -> dict[str, Cells]:
        """Return the cells of every kernel that ran with a block, or is going to."""
        if self._cells is None:
            self._cells = {}
            planned = self._planned.items() if self._planned_for == self._key else ()
            for (variant, block), reason in planned:
                self._cells.setdefault(variant, {})[block] = reason
            for run in self.results.rows():
                result = run.result
                if result.block is not None and _key_of(result) == self._key:
                    self._cells.setdefault(result.variant, {})[result.block] = run
        return self._cells

    def _follow_newest(self, _parent: QModelIndex, first: int) -> None:
        made_here = self.results.results()
        if first >= len(made_here) or made_here[-1].task != Problem.task:
            return
        newest = made_here[-1]
        key = _key_of(newest)
        # On the CPU rows have one layout only: such a run belongs to either.
        if newest.layout or self._key is None or key[0] != self._key[0]:
            self._key = key
        self.newest = newest
        self._refresh()

    def _forget(self) -> None:
        self._key = self._planned_for = self.newest = None
        self._planned = {}
        # Some may be left, or have come back.
        self._follow_newest(QModelIndex(), 0)
        self._refresh()

    def _refresh(self) -> None:
        self._cells = None
        self._change_timer.start()


def _key_of(result: RunResult) -> _Key:
    return comparable(result), result.layout
