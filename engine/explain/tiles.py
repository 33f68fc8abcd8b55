"""Who loads what in a block of a filter's kernel: the block runs in the interpreter of PTX.

It takes 2 to 150 ms, beside compiling a new kernel; no device and no copy of the picture. A load is kept
where its value reaches a store to shared memory through registers alone, or is copied there without one. Sums
of what was kept before are no loads.

Which cell of the picture a value in shared memory stands for follows from where it lies: a ghost cell has a
value that was not loaded, or that of another cell. What was loaded shows how the rows of a tile lie there,
and so where its ghost cells do. Where rows do not lie one after another, as where vectors are swapped, it is
known of what was loaded from its own place alone.

Called on: the main thread of the engine's process, or of a script.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.device import interpreter
from engine.device.interpreter import InterpreterBackend
from engine.device.launches import Operand, Pass
from engine.explain.answers import kernel_job
from engine.explain.launches import why_not_compiled
from engine.explain.messages import DIRECT, NO_THREAD, BlockTiles, TilePlan, TileRequest
from engine.geometry.block import Block, UnsupportedVariant
from engine.ptx import Array, PtxError
from engine.ptx.kernel import PtxKernel
from engine.ptx.memory import WARP, Access, Numbers
from engine.ptx.program import kernel_of
from engine.results.problem import Checkpoint, Progress, go_on
from engine.work.filter_task import MaskJob
from engine.work.problem import Problem

Flags = NDArray[np.bool_]
NOT_OF_PICTURE = -1
"""In place of a sample: a value that was not loaded, as that of a ghost cell."""
# In place of a load: one from constant, shared or local memory.
_ELSEWHERE = -1


class LoadOrigin(NamedTuple):
    """A load that a stored value may come from: into which of its registers, and how many share that one."""

    load: int
    register: int
    registers: int
    turn: int  # which of the values that come from this register it is


class Accesses(NamedTuple):
    """Samples that threads accessed, one each."""

    threads: Numbers
    samples: Numbers  # counted from the beginning of the array; NOT_OF_PICTURE
    times: Numbers  # which of the block's accesses it was
    addresses: Numbers  # of values that are put into shared memory: where


@lru_cache(maxsize=64)
def _origins(kernel: PtxKernel) -> dict[int, list[list[LoadOrigin]]]:
    """Return for each store where each of its values may come from."""
    reaching: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
    size = -1
    while size != (size := sum(map(len, reaching.values()))):
        for one in kernel.instructions:
            if one.name in ("ld", "ldu"):
                space = one.first_of("const", "shared", "local", "global")
                targets = kernel.registers_in(one.operands[0])
                for at, register in enumerate(targets):
                    number = one.number if space in ("global", "") else _ELSEWHERE
                    reaching[register].add((number, at, len(targets)))
            else:
                read = set().union(*(reaching[register] for register in kernel.read_by(one)))
                for register in kernel.written_by(one):
                    reaching[register] |= read
    turns: dict[tuple[int, int, int], int] = defaultdict(int)
    by_store: dict[int, list[list[LoadOrigin]]] = defaultdict(list)
    for one in kernel.instructions:
        for text in one.operands[1].strip("{}").split(",") if one.name == "st" else ():
            origins = sorted(reaching[kernel.registers.get(text.strip(), -1)])
            by_store[one.number].append([LoadOrigin(*origin, turns[origin]) for origin in origins])
            for origin in origins:
                turns[origin] += 1
    return by_store


class BlockLoads:
    """Notes the accesses of one block (`note`, for `engine.ptx.run`) between two arrays."""

    def __init__(self, kernel: PtxKernel, source: Array, result: Array, threads: int) -> None:
        self._origins = _origins(kernel)
        self._source, self._result, self._threads = source, result, threads
        self._now = 0
        # Loads that did not read the source.
        self._others = {_ELSEWHERE}
        # Of each load when each thread did it last, which sample was the first, and how many there are.
        self._last: dict[int, tuple[Numbers, Numbers, int]] = {}
        self._stored: dict[int, Numbers] = {}  # when each thread did each store last
        self._loads: list[tuple[int, Accesses]] = []
        self._results: list[Accesses] = []
        self._kept: list[Accesses] = []
        self.keeping = set[int]()  # the loads whose values are kept
        self.at_once = 1  # samples that a thread loads at once, at most
        self.unit = 1  # bytes of a value in shared memory

    def note(self, access: Access) -> None:
        """Note an access of some threads."""
        segment, number, threads = access.segment, access.instruction.number, access.active.slots
        offsets = np.broadcast_to(access.offsets.view(np.int64), threads.shape)
        self._now += 1
        if segment.array is self._source.values:
            itemsize = self._source.values.itemsize
            first, count = offsets // itemsize, access.size // itemsize
            self.at_once = max(self.at_once, count)
            never = np.full(self._threads, -1), np.zeros(self._threads, np.int64), count
            times, firsts, _ = self._last.setdefault(number, never)
            times[threads], firsts[threads] = self._now, first
            self._loads.append((number, self._samples(threads, first, count)))
        elif access.effect == "read":
            self._others.add(number)
        elif segment.array is self._result.values:
            itemsize = self._result.values.itemsize
            self._results.append(self._samples(threads, offsets // itemsize, access.size // itemsize))
        elif segment.space == "shared":
            self._keep(access, threads, offsets)

    def _samples(self, threads: Numbers, first: Numbers, count: int) -> Accesses:
        samples = (first[:, None] + np.arange(count)).reshape(-1)
        return Accesses(np.repeat(threads, count), samples, np.full(len(samples), self._now), samples)

    def _keep(self, access: Access, threads: Numbers, offsets: Numbers) -> None:
        number = access.instruction.number
        if access.effect == "copy":
            values = [
                [LoadOrigin(number, 0, 1, at)] for at in range(access.size // self._source.values.itemsize)
            ]
        else:
            values = self._origins[number]
        loads = {origin.load for origins in values for origin in origins}
        if loads & self._others:
            return
        self.keeping |= loads
        self.unit = access.size // len(values)
        stored = self._stored.setdefault(number, np.full(self._threads, -1))
        for at, origins in enumerate(values):
            # The load that came last, since the thread stored here before.
            latest, samples = stored[threads], np.full(len(threads), NOT_OF_PICTURE)
            for load, register, registers, turn in origins:
                if load in self._last:
                    times, firsts, count = self._last[load]
                    each = max(1, count // registers)
                    own = firsts[threads] + register * each + turn % each
                    samples = np.where(times[threads] > latest, own, samples)
                    latest = np.maximum(times[threads], latest)
            times = np.full(len(threads), self._now)
            self._kept.append(Accesses(threads, samples, times, offsets + at * self.unit))
        stored[threads] = self._now

    def of(self, threads: range) -> Iterator[Accesses]:
        """Yield some threads' stores of results, what they keep in the order of the stores, other loads."""
        direct = [one for number, one in self._loads if number not in self.keeping]
        for parts in (self._results, self._kept, direct):
            none = Accesses(*(np.zeros(0, np.int64),) * 4)
            every = Accesses(*map(np.concatenate, zip(none, *parts, strict=True)))
            is_own = (every.threads >= threads.start) & (every.threads < threads.stop)
            yield Accesses(*(one[is_own] for one in every))


NOWHERE = np.iinfo(np.int32).min
"""In place of a row: it is not known which cell it is."""


def places(
    kept: Accesses, rows: Numbers, columns: Numbers, unit: int, size: tuple[int, int], is_near: Flags
) -> tuple[Numbers, Numbers]:
    """Return row and column of each value of `unit` bytes, before the border's rule.

    `rows` and `columns` are where in the picture, of a `size`, each was loaded from; those of values that
    were not loaded have no meaning. `is_near` says which were loaded from under the mask of a result: others
    may be in place of a ghost cell.
    """
    is_loaded = kept.samples != NOT_OF_PICTURE
    own = np.where(is_loaded, rows, NOWHERE), columns
    if not is_near.any():
        return own
    # How often each place was filled before: a block keeps one thing after another there.
    order = np.lexsort((kept.times, kept.addresses))
    addresses, lots = kept.addresses[order], np.zeros(len(order), np.int64)
    lots[order] = np.arange(len(order)) - np.searchsorted(addresses, addresses)
    pitch = _pitch(kept.addresses[is_near], rows[is_near], columns[is_near], lots[is_near])
    if pitch < unit:
        return own
    # Where row 0 and column 0 of the picture would lie, and how many values lie between two rows.
    zeros, wide = kept.addresses - rows * pitch - columns * unit, pitch // unit
    zero_of, known = np.zeros(lots.max() + 1, np.int64), np.unique(lots[is_near])
    for lot in known:
        zero_of[lot] = _commonest(zeros[is_near & (lots == lot)])
    is_known = np.isin(lots, known)
    at = (kept.addresses - zero_of[lots]) // unit
    is_right = is_near & (zeros == zero_of[lots])
    # The tile begins with its first row's first cell.
    lowest, first = columns[is_right].min(), at[is_known][kept.addresses[is_known].argmin()]
    left = lowest - (lowest - first) % wide
    cell_columns = np.where(is_known, (at - left) % wide + left, columns)
    cell_rows = np.where(is_known, (at - cell_columns) // wide, own[0])
    is_inside = (cell_rows >= 0) & (cell_rows < size[0]) & (cell_columns >= 0) & (cell_columns < size[1])
    is_wrong = is_inside & ((cell_rows != own[0]) | (cell_columns != columns))
    return own if is_wrong.any() else (cell_rows, cell_columns)


def _pitch(addresses: Numbers, rows: Numbers, columns: Numbers, lots: Numbers) -> int:
    """Return how many bytes rows lie apart; more than there are where all lie in one row."""
    order = np.lexsort((addresses, columns, lots))
    by = [np.diff(one[order]) for one in (lots, columns, rows)]
    apart = np.diff(addresses[order])[(by[0] == 0) & (by[1] == 0) & (by[2] == 1)]
    return _commonest(apart) if len(apart) else 1 << 40


def _commonest(values: Numbers) -> int:
    distinct, counts = np.unique(values, return_counts=True)
    return int(distinct[counts.argmax()])


# Cells around those under the mask that are drawn where the block loads them.
_AROUND = 64


def tile_plans(job: MaskJob, at: tuple[int, int], checkpoint: Checkpoint = go_on) -> tuple[TilePlan, ...]:
    """Return the tile of the block at (across, down) of the grid, one per pass.

    Where the warps of a block do not wait for one another, each has its own. It must be something that the
    variant accepts, in a process that compiles kernels (`engine.explain.launches.why_not_compiled`).
    """
    buffers, tiles = job.task.allocate(InterpreterBackend(), job), list[TilePlan]()
    for step in job.passes:
        checkpoint(Progress("running a block", 0.5, 1.0))
        tiles += _tiles(job.problem, step, interpreter.arrays_of(step, buffers.image, buffers.out), at)
    return tuple(tiles)


class _Box(NamedTuple):
    top: int
    left: int
    rows: int
    columns: int

    @classmethod
    def of(cls, rows: Numbers, columns: Numbers) -> "_Box":
        """Return the smallest one with these cells."""
        top, left = int(rows.min()), int(columns.min())
        return cls(top, left, int(rows.max()) + 1 - top, int(columns.max()) + 1 - left)

    def has(self, rows: Numbers, columns: Numbers, around: int = 0) -> Flags:
        """Return which cells lie in it, or so many around it."""
        is_row = (rows >= self.top - around) & (rows < self.top + self.rows + around)
        return is_row & (columns >= self.left - around) & (columns < self.left + self.columns + around)


def _tiles(problem: Problem, step: Pass, arrays: dict[Any, Array], at: tuple[int, int]) -> Iterator[TilePlan]:
    """Run a block of a pass, and yield its tile, or that of each of its warps that computes something."""
    source, result = (one for one in step.arguments if isinstance(one, Operand))
    is_first, is_last = source is Operand.IMAGE, result is Operand.OUT
    block = Block(*step.launch.block[:2])
    loads = BlockLoads(kernel_of(interpreter.ptx_of(step)), arrays[source], arrays[result], block.threads)
    run = interpreter.run_pass(
        step, arrays, checks=False, counted=False, chosen_blocks=[(*at, 0)], on_access=loads.note
    )
    # Channels are samples side by side where no block has one of them alone.
    apart = problem.channels if step.launch.grid[2] == 1 else 1
    width = problem.width * apart
    # Of two passes the first goes along the rows, the second along the columns.
    down, across = problem.mask_shape[0] if is_last else 1, problem.mask_shape[1] if is_first else 1
    above, before = problem.anchor[0] if is_last else 0, problem.anchor[1] * apart if is_first else 0

    def places_in(samples: Numbers, operand: Operand) -> tuple[Numbers, Numbers]:
        rows, columns = np.divmod(samples, arrays[operand].values[0].size)
        return rows, columns // (problem.channels // apart)

    titles = {(True, False): "along the rows", (False, True): "along the columns"}
    parts = [(range(block.threads), titles.get((is_first, is_last), ""))]
    if loads.keeping and not run.counts.barriers and block.threads > WARP:
        firsts = range(0, block.threads, WARP)
        parts = [(range(one, one + WARP), f"strip of warp {one // WARP}") for one in firsts]
    for threads, title in parts:
        results, kept, direct = loads.of(threads)
        rows, columns = places_in(results.samples, result)
        is_one = columns < width
        if not is_one.any():
            continue
        own = _Box.of(rows[is_one], columns[is_one])
        writers = np.full((own.rows, own.columns), NO_THREAD, np.int32)
        writers[rows[is_one] - own.top, columns[is_one] - own.left] = results.threads[is_one]
        # The cells under the mask, and those around them that the block loads.
        top, left = own.top - above, own.left - before
        needed = _Box(top, left, own.rows + down - 1, own.columns + (across - 1) * apart)
        rows, columns = places_in(kept.samples, source)
        is_loaded = kept.samples != NOT_OF_PICTURE
        is_near = is_loaded & needed.has(rows, columns)
        rows, columns = places(kept, rows, columns, loads.unit, (problem.height, width), is_near)
        drawn = is_loaded & needed.has(rows, columns, _AROUND)
        corners = [top, top + needed.rows - 1], [left, left + needed.columns - 1]
        box = _Box.of(np.append(rows[drawn], corners[0]), np.append(columns[drawn], corners[1]))
        loaders = np.full((box.rows, box.columns), NO_THREAD, np.int32)
        steps = np.zeros_like(loaders)
        direct_rows, direct_columns = places_in(direct.samples, source)
        is_here = box.has(direct_rows, direct_columns)
        loaders[direct_rows[is_here] - box.top, direct_columns[is_here] - box.left] = DIRECT
        numbers = np.unique(kept.times, return_inverse=True)[1]
        # Of a cell that is kept more than once the first time counts.
        here = np.flatnonzero(box.has(rows, columns))[::-1]
        there = rows[here] - box.top, columns[here] - box.left
        loaders[there], steps[there] = kept.threads[here], numbers[here] + 1
        yield TilePlan(
            height=problem.height, width=width, border=problem.border, block=block, apart=apart, title=title,
            first=box[:2], loaders=loaders, steps=steps, first_result=own[:2], writers=writers,
            window_shape=(down, across), window_at=(top - box.top, left - box.left),
            loads=int(is_loaded.sum()), direct_reads=len(direct.samples), at_once=loads.at_once,
            reads="N" if is_first else "S", writes="P" if is_last else "S",
        )  # fmt: skip


def block_tiles(request: TileRequest, report: Checkpoint) -> BlockTiles:
    """Return who loads what in a block, or why that is not known."""
    key = request.job.variant
    try:
        job, _ = kernel_job(request.job)
        if (not_compiled := why_not_compiled()) is not None:
            return BlockTiles(key, reason=str(not_compiled))
        across, down, _ = job.variant.plan(job.problem, job.block)[0].grid
        at_x, at_y = request.at or (int(across > 2), int(down > 2))
        at = min(max(at_x, 0), across - 1), min(max(at_y, 0), down - 1)
        return BlockTiles(key, (across, down), at, tile_plans(job, at, report))
    except UnsupportedVariant as error:
        return BlockTiles(key, reason=str(error.refusal))
    except PtxError as error:
        return BlockTiles(key, reason=str(error))
