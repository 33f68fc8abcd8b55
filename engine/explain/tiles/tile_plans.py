"""The tiles of a block of a filter's kernel, found by running it in the interpreter of PTX.

A block takes 2 to 150 ms, beside compiling a new kernel; no device and no copy of the picture.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compiled.late_names import import_names
from engine.device.launches import Operand, Pass
from engine.explain.counts.counting import buffers_of
from engine.explain.tiles.block_loads import NOT_OF_PICTURE, Accesses, BlockLoads
from engine.explain.tiles.tile_layout import places
from engine.geometry.block import Block
from engine.geometry.tile_plan import DIRECT, NOBODY, TilePlan
from engine.ptx import Array
from engine.ptx.active import WARP, Numbers
from engine.ptx.program import kernel_of
from engine.results.progress import Checkpoint, Progress, go_on
from engine.work.filter_task import MaskJob
from engine.work.filtering.problem import Problem

if TYPE_CHECKING:  # imported by `import_names`: only where there is a compiler
    from engine.device import interpreter

# Cells around those under the mask that are drawn where the block loads them.
_AROUND = 64


def tile_plans(job: MaskJob, at: tuple[int, int], checkpoint: Checkpoint = go_on) -> tuple[TilePlan, ...]:
    """Return the tile of the block at (across, down) of the grid, one per pass.

    Where the warps of a block wait for nobody, each has its own. It must be something that the variant
    accepts, in a process that compiles kernels (`engine.explain.launch.launches.why_not_compiled`).
    """
    import_names(__name__)
    buffers, found = buffers_of(job), list[TilePlan]()
    for step in job.passes:
        checkpoint(Progress("running a block", 0.5, 1.0))
        arrays = interpreter.arrays_of(step, buffers.image, buffers.out)
        found += _Pass(job.problem, step, arrays, at).tiles()
    return tuple(found)


class _Box(NamedTuple):
    """A rectangle of cells of the picture and around it."""

    top: int
    left: int
    rows: int
    columns: int

    @classmethod
    def of(cls, rows: Numbers, columns: Numbers) -> "_Box":
        """Return the smallest one with these cells."""
        top, left = int(rows.min()), int(columns.min())
        return cls(top, left, int(rows.max()) + 1 - top, int(columns.max()) + 1 - left)

    def has(self, rows: Numbers, columns: Numbers, around: int = 0) -> NDArray[np.bool_]:
        """Return which cells lie in it, or so many around it."""
        is_row = (rows >= self.top - around) & (rows < self.top + self.rows + around)
        return is_row & (columns >= self.left - around) & (columns < self.left + self.columns + around)

    def with_cells(self, rows: Numbers, columns: Numbers) -> "_Box":
        """Return the smallest one that has it and these cells."""
        corners = [self.top, self.top + self.rows - 1], [self.left, self.left + self.columns - 1]
        return self.of(np.concatenate([corners[0], rows]), np.concatenate([corners[1], columns]))


class _Pass:
    """One pass of a filter, whose block has run."""

    def __init__(self, problem: Problem, step: Pass, arrays: dict[Any, Array], at: tuple[int, int]) -> None:
        source, result = (one for one in step.arguments if isinstance(one, Operand))
        self._problem, self._block = problem, Block(*step.launch.block[:2])
        self._source, self._result = arrays[source].values, arrays[result].values
        kernel = kernel_of(interpreter.ptx_of(step))
        self._loads = BlockLoads(kernel, arrays[source], arrays[result], self._block.threads)
        run = interpreter.run_pass(
            step,
            arrays,
            checks=False,
            counted=False,
            chosen_blocks=[(*at, 0)],
            on_access=self._loads.note,
        )
        # Channels are samples side by side where no block has one of them alone.
        self._apart = problem.channels if step.launch.grid[2] == 1 else 1
        self._width = problem.width * self._apart
        self._is_first, self._is_last = source is Operand.IMAGE, result is Operand.OUT
        (rows, columns), (top, left) = problem.mask_shape, problem.anchor
        # Of two passes the first goes along the rows, the second along the columns.
        if not self._is_last:
            rows, top = 1, 0
        if not self._is_first:
            columns, left = 1, 0
        self._window, self._anchor = (rows, columns), (top, left * self._apart)
        self._has_own_warps = bool(self._loads.keeping) and not run.counts.barriers

    def tiles(self) -> list[TilePlan]:
        """Return the tile of the block, or of each of its warps that computes something."""
        titles = {(True, False): "along the rows", (False, True): "along the columns"}
        parts = [(range(self._block.threads), titles.get((self._is_first, self._is_last), ""))]
        if self._has_own_warps and self._block.threads > WARP:
            firsts = range(0, self._block.threads, WARP)
            parts = [(range(one, one + WARP), f"strip of warp {one // WARP}") for one in firsts]
        return [plan for threads, title in parts if (plan := self._tile(threads, title)) is not None]

    def _at(self, samples: Numbers, values: np.ndarray) -> tuple[Numbers, Numbers]:
        """Return row and column in the picture of samples of an array."""
        rows, columns = np.divmod(samples, values[0].size)
        return rows, columns // (self._problem.channels // self._apart)

    def _tile(self, threads: range, title: str) -> TilePlan | None:
        """Return the tile of some threads; None of those that have no result in the picture."""
        results = self._loads.results.of(threads)
        rows, columns = self._at(results.samples, self._result)
        is_one = columns < self._width
        if not is_one.any():
            return None
        rows, columns = rows[is_one], columns[is_one]
        own = _Box.of(rows, columns)
        writers = np.full((own.rows, own.columns), NOBODY, np.int32)
        writers[rows - own.top, columns - own.left] = results.threads[is_one]
        top, left = own.top - self._anchor[0], own.left - self._anchor[1]
        needed = _Box(
            top, left, own.rows + self._window[0] - 1, own.columns + (self._window[1] - 1) * self._apart
        )
        kept, direct = self._loads.kept.of(threads), self._loads.direct.of(threads)
        box, loaders, steps = self._loaders(needed, kept, direct)
        return TilePlan(
            height=self._problem.height,
            width=self._width,
            border=self._problem.border,
            block=self._block,
            first=box[:2],
            loaders=loaders,
            steps=steps,
            first_result=own[:2],
            writers=writers,
            window_shape=self._window,
            window_at=(top - box.top, left - box.left),
            apart=self._apart,
            loads=int((kept.samples != NOT_OF_PICTURE).sum()),
            direct_reads=len(direct.samples),
            at_once=self._loads.at_once,
            reads="N" if self._is_first else "S",
            writes="P" if self._is_last else "S",
            title=title,
        )

    def _loaders(
        self, needed: _Box, kept: Accesses, direct: Accesses
    ) -> tuple[_Box, NDArray[np.int32], NDArray[np.int32]]:
        """Return the tile's cells, who loads each, and in which step; `needed` are those under the mask."""
        rows, columns = self._at(kept.samples, self._source)
        is_loaded, size = kept.samples != NOT_OF_PICTURE, (self._problem.height, self._width)
        is_near = is_loaded & needed.has(rows, columns)
        rows, columns = places(kept, rows, columns, self._loads.unit, size, is_near)
        drawn = is_loaded & needed.has(rows, columns, _AROUND)
        box = needed.with_cells(rows[drawn], columns[drawn])
        loaders = np.full((box.rows, box.columns), NOBODY, np.int32)
        steps = np.zeros_like(loaders)
        direct_rows, direct_columns = self._at(direct.samples, self._source)
        is_here = box.has(direct_rows, direct_columns)
        loaders[direct_rows[is_here] - box.top, direct_columns[is_here] - box.left] = DIRECT
        numbers = np.unique(kept.times, return_inverse=True)[1]
        # Of a cell that is kept more than once the first time counts.
        here = np.flatnonzero(box.has(rows, columns))[::-1]
        there = rows[here] - box.top, columns[here] - box.left
        loaders[there], steps[there] = kept.threads[here], numbers[here] + 1
        return box, loaders, steps
