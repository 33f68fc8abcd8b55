"""The map of one kernel, block width x block height: what each cell shows and says. No widgets in here."""

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from engine.errors import Reason
from engine.geometry.block import Block, Limits, why_illegal
from engine.host.protocol import Availability
from engine.results.metrics import AnyMetric, Compared
from engine.results.text_forms import digits_text
from engine.work.messages import PictureJob
from gui.explore.jobs import comparable_of
from gui.explore.results.results_model import ResultsModel

Cells = dict[Block, Compared | Reason | None]
"""By block the newest run of a kernel; the reason where it is refused; None where it waits for its turn."""


class BlockCells(QObject):
    """The cells of each kernel on the problem that is set: its runs, and what a run of blocks plans."""

    changed = Signal()  # once per turn of the event loop

    def __init__(self, results: ResultsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.results = results
        self._planned: dict[tuple[str, Block], Reason | None] = {}
        self._planned_for: Hashable = None
        self._change_timer = QTimer(self, singleShot=True, interval=0)
        self._change_timer.timeout.connect(self.changed)
        results.modelReset.connect(self._planned.clear)
        of_rows = results.rowsInserted, results.modelReset, results.dataChanged
        for changed in (*of_rows, results.present_changed):
            changed.connect(self._change_timer.start)

    def plan(self, job: PictureJob, entries: Iterable[Availability]) -> None:
        """Note what a run of several blocks is going to do, and what it cannot."""
        self._planned_for = comparable_of(job)
        self._note({(one.variant, one.block): one.reason for one in entries if one.block is not None})

    def end_plan(self) -> None:
        """Note that the run is over: what still waits was stopped."""
        self._note({at: reason for at, reason in self._planned.items() if reason})

    def all(self) -> dict[str, Cells]:
        """Return the cells of every kernel that ran with a block, or is going to."""
        results, cells = self.results, dict[str, Cells]()
        if results.present in (None, self._planned_for):
            for (variant, block), reason in self._planned.items():
                cells.setdefault(variant, {})[block] = reason
        here = (run for run in results.rows() if results.kept_of(run.result))
        runs = [run for run in here if run.result.block and not results.is_earlier(run.result)]
        for run in runs:
            # Of the layout of rows that ran last.
            if run.result.block and run.result.layout == runs[-1].result.layout:
                cells.setdefault(run.result.variant, {})[run.result.block] = run
        return cells

    def _note(self, planned: dict[tuple[str, Block], Reason | None]) -> None:
        self._planned.clear()
        self._planned |= planned
        self._change_timer.start()


STAR = "★"


class Kind(Enum):
    """What a cell shows: its sign, which is not a colour alone, and the words of the legend."""

    VALUE = "", "measured"
    WAITING = "·", "waiting"
    NO_NUMBER = "✓", "verified, not timed"
    FAILED = "!", "failed"
    REFUSED = "✕", "refused by the kernel"
    ILLEGAL = "–", "illegal for CUDA"
    NOT_CHOSEN = " ", "not chosen"

    def __init__(self, sign: str, words: str) -> None:
        self.sign, self.words = sign, words


class MapCell(NamedTuple):
    """A cell: `value` of a measured one, `words` for tooltips and screen readers."""

    kind: Kind
    words: str
    value: float | None = None


@dataclass(frozen=True)
class BlockMap:
    """The cells of a kernel, by block; `xs` and `ys` are the widths and heights of its columns and rows."""

    variant: str = ""
    xs: tuple[int, ...] = ()
    ys: tuple[int, ...] = ()
    cells: Mapping[Block, MapCell] = field(default_factory=dict)
    best: Block | None = None
    metric: AnyMetric | None = None

    def ratio(self, block: Block) -> float:
        """Return how many times worse than the best a measured cell is, at least 1."""
        best, value = self.cells[self.best].value if self.best else None, self.cells[block].value
        return max(value / best, best / value) if best and value else 1.0

    @cached_property
    def worst_ratio(self) -> float:
        return max(map(self.ratio, self.cells), default=1.0)

    @property
    def unit(self) -> str:
        """The unit of the texts in the cells: small times are in microseconds, because cells are small."""
        if self.metric is None or self.best is None:
            return ""
        is_small = self.metric.unit == "ms" and (self.cells[self.best].value or 1.0) < 1.0
        return "µs" if is_small else self.metric.unit

    def text(self, block: Block) -> str:
        """Return the text of a cell: its number, with a star if it is the best; or its sign."""
        value = self.cells[block].value
        if self.metric is None or value is None:
            return self.cells[block].kind.sign
        factor = 1e3 if self.unit == "µs" else 1.0
        is_time = self.metric.unit == "ms"
        number = digits_text(value * factor, 3) if is_time else self.metric.format(value)
        return f"{STAR} {number}" if block == self.best else number

    def words(self, block: Block) -> str:
        """Return what is known of a cell, beside the best one."""
        cell = self.cells[block]
        words = cell.words if cell.kind is Kind.ILLEGAL else f"{self.variant}, {cell.words}"
        if block == self.best:
            return f"{words} The best here."
        if self.best and self.ratio(block) > 1:
            return f"{words} The best, {self.best}, is {self.ratio(block):.3g}× better."
        return words


def map_of(variant: str, cells: Cells, shown: AnyMetric, limits: Limits) -> BlockMap:
    """Return the map of a kernel by its cells; the other blocks of their rows and columns are in it too."""
    xs = tuple(sorted({block.x for block in cells}))
    ys = tuple(sorted({block.y for block in cells}))
    drawn = {
        block: _known(block, cells[block], shown) if block in cells else _other(block, limits)
        for block in (Block(x, y) for x in xs for y in ys)
    }
    values = {block: cell.value for block, cell in drawn.items() if cell.value is not None}
    best = (max if shown.more_is_better else min)(values, key=lambda block: values[block], default=None)
    if len(values) > 1 and len(set(values.values())) == 1:
        # All are the same, so that none is better.
        best = None
    return BlockMap(variant, xs, ys, drawn, best, shown)


def _other(block: Block, limits: Limits) -> MapCell:
    # Without the nearest legal block: of 100 cells that takes 300 ms.
    if reason := why_illegal(block, limits):
        return MapCell(Kind.ILLEGAL, str(reason))
    return MapCell(Kind.NOT_CHOSEN, f"{block}: not in the list of blocks.")


def _known(block: Block, cell: Compared | Reason | None, shown: AnyMetric) -> MapCell:
    if cell is None:
        return MapCell(Kind.WAITING, f"{block}: waiting for its turn.")
    if isinstance(cell, Reason):
        return MapCell(Kind.REFUSED, str(cell))
    result, value = cell.result, shown.value(cell)
    if result.is_refuted:
        return MapCell(Kind.FAILED, f"{block}: {result.status}")
    if value is None or not math.isfinite(value):
        return MapCell(Kind.NO_NUMBER, f"{block}: {result.proof}; no {shown.title}.")
    return MapCell(Kind.VALUE, f"{block}: {shown.words(cell)}, {result.proof}.", float(value))
