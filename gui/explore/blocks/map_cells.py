"""The map of one kernel, block width x block height, as what is drawn in each cell. No widgets in here."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import why_illegal
from engine.results.metrics import AnyMetric
from engine.results.quantities import digits_text
from gui.explore.blocks.block_cells import BlockCell, CellState


class Kind(StrEnum):
    """What a cell of the map shows, with the words of the legend."""

    VALUE = "measured"
    WAITING = "waiting"
    NO_NUMBER = "verified, not timed"
    FAILED = "failed"
    REFUSED = "refused by the kernel"
    ILLEGAL = "illegal for CUDA"
    NOT_CHOSEN = "not chosen"


@dataclass(frozen=True, slots=True)
class MapCell:
    """A cell: `value` of a measured one, `words` for tooltips and screen readers."""

    kind: Kind
    words: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class BlockMapData:
    """The cells of a kernel, by block; `xs` and `ys` are the widths and heights of its columns and rows."""

    variant: str = ""
    xs: tuple[int, ...] = ()
    ys: tuple[int, ...] = ()
    cells: Mapping[Block, MapCell] = field(default_factory=dict)
    best: Block | None = None
    metric: AnyMetric | None = None

    def ratio(self, cell: MapCell) -> float:
        """Return how many times worse than the best a measured cell is, at least 1."""
        best = self.cells[self.best].value if self.best else None
        if not best or not cell.value:
            return 1.0
        ratio = cell.value / best
        return max(ratio, 1 / ratio)

    @property
    def unit(self) -> str:
        """The unit of the texts in the cells."""
        shown = self.metric
        if shown is None or self.best is None:
            return ""
        return "µs" if shown.unit == "ms" and (self.cells[self.best].value or 1.0) < 1.0 else shown.unit

    def text(self, block: Block) -> str:
        """Return the text in a measured cell; small times in microseconds, because cells are small."""
        cell = self.cells[block]
        if self.metric is None or cell.value is None:
            return ""
        if self.metric.unit != "ms":
            return self.metric.format(cell.value)
        return digits_text(cell.value * (1e3 if self.unit == "µs" else 1.0), 3)

    @property
    def worst_ratio(self) -> float:
        """The largest `ratio`."""
        ratios = [self.ratio(cell) for cell in self.cells.values() if cell.kind is Kind.VALUE]
        return max(ratios, default=1.0)


def map_of(variant: str, cells: Mapping[Block, BlockCell], shown: AnyMetric, limits: Limits) -> BlockMapData:
    """Return the map of a kernel by its cells; the other blocks of their rows and columns are in it too."""
    xs = tuple(sorted({block.x for block in cells}))
    ys = tuple(sorted({block.y for block in cells}))
    blocks = [Block(x, y) for x in xs for y in ys]
    drawn = {block: _cell(block, cells.get(block), shown, limits) for block in blocks}
    values = [(cell.value, block) for block, cell in drawn.items() if cell.value is not None]
    best = _best(values, more_is_better=shown.more_is_better)
    return BlockMapData(variant, xs, ys, drawn, best, shown)


def _best(values: list[tuple[float, Block]], *, more_is_better: bool) -> Block | None:
    """Return the block of the best value; None where all are the same, so that none is better."""
    if len({value for value, _ in values}) < min(2, len(values)):
        return None
    if not values:
        return None
    return (max if more_is_better else min)(values, key=lambda one: one[0])[1]


def _cell(block: Block, cell: BlockCell | None, shown: AnyMetric, limits: Limits) -> MapCell:
    if cell is None:
        # Without the nearest legal block: of 100 cells that takes 300 ms.
        if reason := why_illegal(block, limits):
            return MapCell(Kind.ILLEGAL, str(reason))
        return MapCell(Kind.NOT_CHOSEN, f"{block}: not in the list of blocks.")
    if cell.state is CellState.REFUSED:
        return MapCell(Kind.REFUSED, str(cell.reason))
    if cell.run is None:
        return MapCell(Kind.WAITING, f"{block}: waiting for its turn.")
    result = cell.run.result
    value = shown.value(cell.run)
    if value is not None and math.isfinite(value) and not result.is_refuted:
        return MapCell(Kind.VALUE, f"{block}: {shown.words(cell.run)}, {result.proof}.", float(value))
    if result.is_refuted:
        return MapCell(Kind.FAILED, f"{block}: {result.status}")
    return MapCell(Kind.NO_NUMBER, f"{block}: {result.proof}; no {shown.title}.")
