"""Counts what a variant's launches execute and ask of memory, in a few representative blocks.

A request is one instruction of one warp: the addresses of its threads that are active there. Global memory
serves a request by sectors of 32 bytes, which lie in lines of 128 bytes, one transaction each. Shared memory
serves it in wavefronts: in each, every one of the 32 banks gives one word of 4 bytes, to any number of
threads. Constant memory gives one word after another.

The blocks run in the interpreter of PTX (`engine.ptx`), as their threads run on a device, on arrays of zeros
whose memory is taken where it is touched: 0.01 to 0.5 s for a launch, with masks of 63 x 63 up to 3 s, beside
compiling a new kernel; no device and no copy of the picture. A kernel whose accesses depend on the picture's
samples is not counted.

Blocks at an edge of the grid ask for less, or for other cells, than those in the middle. Along each axis the
first and the last ones are counted, and some neighbours in the middle, which stand for all others: several,
since blocks that begin at different offsets in a line of 128 bytes differ.

`bench/ncu.py` compares the counts with those of a device.

Called on: the main thread of the engine's process, or of a script.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from engine.device import interpreter
from engine.device.backend import Buffers
from engine.device.interpreter import InterpreterBackend
from engine.device.launches import Between, Launch, Pass, Placeholder
from engine.errors import Reason
from engine.explain.instructions import Weigh
from engine.explain.launches import why_not_compiled
from engine.ptx import PtxError
from engine.ptx.counts import Requests
from engine.ptx.kernel import depends_on_contents
from engine.ptx.machine import Index3
from engine.ptx.program import kernel_of
from engine.results.problem import Checkpoint, Progress, go_on
from engine.results.text_forms import MISSING, rate_text
from engine.run.task import AnyJob

BANKS = 32
WORD_BYTES = 4
_EVERY = ("loads", "stores", "copies", "atomics")
REQUESTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "global_loads": ("global", ("loads", "copies")),
    "global_stores": ("global", ("stores",)),
    "global_accesses": ("global", _EVERY),
    "shared_loads": ("shared", ("loads",)),
    "shared_stores": ("shared", ("stores", "copies")),
    "shared_accesses": ("shared", _EVERY),
    "constant_loads": ("constant", _EVERY),
}
"""Memory and kinds of requests by name; a copy loads from global memory and stores to shared memory."""


@dataclass(frozen=True, slots=True)
class ArrayAccesses:
    """Requests to one array of a pass."""

    memory: str  # "global", "shared", "constant" or "local"
    kind: str  # "loads", "stores", "copies" (from global to shared memory, without a register) or "atomics"
    array: str  # the parameter of the kernel, or the memory
    requests: Requests
    # Sectors of global memory that a block asks for, each once per block, in all blocks together.
    block_sectors: int = 0
    # The least sectors that must move between L2 and the device's memory: each of the array's once.
    launch_sectors: int = 0


@dataclass(frozen=True, slots=True)
class CountedAccesses:
    """What one launch executes and asks of memory: counted in `counted_blocks` of its blocks, for all.

    `is_exact` says whether the numbers are those of the whole launch: every block was counted, or those
    counted in the middle of the grid, which stand for all others there, agree.
    """

    name: str
    blocks: int
    counted_blocks: int
    is_exact: bool
    arrays: tuple[ArrayAccesses, ...]
    barriers: int = 0  # of warps: each warp at each barrier
    executed: Mapping[str, int] = field(default_factory=dict)  # by warps, of each instruction of PTX

    def of(self, name: str) -> Requests:
        """Return some requests together, by their name in `REQUESTS`."""
        memory, kinds = REQUESTS[name]
        wanted = (one for one in self.arrays if one.memory == memory and one.kind in kinds)
        return sum((one.requests for one in wanted), Requests())

    def weighed(self, weigh: Weigh) -> float:
        """Return the sum of the weights of all instructions that the warps execute."""
        return sum(warps * weigh(spelling) for spelling, warps in self.executed.items())

    @property
    def launch_sectors(self) -> int:
        """The least sectors that must move between L2 and the device's memory; an estimate."""
        return sum(one.launch_sectors for one in self.arrays)


@dataclass(frozen=True, slots=True)
class CountedRun:
    """The counted launches of a variant, in order; none where `not_counted` says why."""

    passes: tuple[CountedAccesses, ...] = ()
    not_counted: Reason | None = None

    def total(self, of: str) -> Requests:
        """Return some requests of all launches together, by their name in `REQUESTS`."""
        return sum((one.of(of) for one in self.passes), Requests())

    @property
    def transactions_per_request(self) -> float | None:
        """128-byte transactions per request to global memory; None without any."""
        return self.total("global_accesses").transactions_per_request


def accesses_document(run: CountedRun) -> dict[str, object]:
    """Return everything that is counted, or why nothing is."""

    def document_of(array: ArrayAccesses) -> dict[str, object]:
        whose = {"memory": array.memory, "kind": array.kind, "array": array.array}
        sectors = {"block_sectors": array.block_sectors, "launch_sectors": array.launch_sectors}
        return whose | asdict(array.requests) | sectors

    reason = run.not_counted
    return {
        "not_counted": None if reason is None else reason.as_json(),
        "transactions_per_request": run.transactions_per_request,
        "launches": [
            {"name": one.name, "blocks": one.blocks, "counted_blocks": one.counted_blocks}
            | {"exact": one.is_exact, "barriers": one.barriers, "arrays": list(map(document_of, one.arrays))}
            for one in run.passes
        ],
    }


def accesses_rows(launches: Sequence[CountedAccesses]) -> list[tuple[str, ...]]:
    """Return a name and a text for each launch; without what no launch has."""
    rows = []
    for of, numbers in _ROWS.items():
        sums = [launch.of(of) for launch in launches]
        for words, number in {"requests": "requests", **numbers}.items():
            values = [getattr(one, number) if one.requests else 0 for one in sums]
            rows.append((f"{of.replace('_', ' ')}: {words}", values))
    rows.append(("warps at barriers", [launch.barriers for launch in launches]))
    shown = ((name, values) for name, values in rows if any(values))
    return [(name, *(rate_text(value) if value else MISSING for value in values)) for name, values in shown]


_GLOBAL = {
    "sectors of 32 bytes per request": "sectors_per_request",
    "transactions of 128 bytes per request": "transactions_per_request",
    "bytes asked for per byte of sectors": "efficiency",
}
_SHARED = {"wavefronts per request": "wavefronts_per_request"}
_ROWS = {
    "global_loads": _GLOBAL,
    "global_stores": _GLOBAL,
    "shared_loads": _SHARED,
    "shared_stores": _SHARED,
    "constant_loads": {"different words per request": "wavefronts_per_request"},
}


class Axis(NamedTuple):
    """How an axis of a grid is sampled: so many blocks at its beginning, in the middle and at its end."""

    first: int
    middle: int
    last: int


Sample = tuple[Index3, float, tuple[int | None, ...]]
"""A block, how many blocks it stands for, and its place along each axis: None where it stands for others."""


def places(count: int, axis: Axis) -> list[tuple[int, float]]:
    """Return places along an axis of `count` blocks, and how many places each stands for.

    One in the middle stands for those that lie a multiple of `middle` further: offsets repeat.
    """
    first, middle, last = axis
    end = count - last
    if end - first <= middle:
        return [(place, 1.0) for place in range(count)]
    begin = first + (end - first - middle) // 2
    middles = range(begin, begin + middle)
    alike = [(one, float(len(range(first + (one - first) % middle, end, middle)))) for one in middles]
    return [*((place, 1.0) for place in range(first)), *alike, *((place, 1.0) for place in range(end, count))]


def sampled(grid: Index3, axes: tuple[Axis, ...]) -> list[Sample]:
    """Return the blocks of a grid that are counted."""
    samples = []
    for along in product(*(places(count, axis) for count, axis in zip(grid[::-1], axes[::-1], strict=True))):
        block, weights = zip(*along[::-1], strict=True)
        own = tuple(place if weight == 1.0 else None for place, weight in zip(block, weights, strict=True))
        samples.append((block, math.prod(weights), own))
    return samples


MOST_KEPT = 64
# Instructions of threads that are executed to count one launch: about 0.5 s.
MOST_COUNTED = 1.5e8
# So many are counted whole: every block of the grid.
FEW_COUNTED = 1e7
# Blocks in the middle along x and y, best first: 8 neighbours have every offset in a line of 128 bytes.
MIDDLES = ((8, 2), (4, 2), (2, 1), (1, 1))
# The same for a grid of few rows, whose blocks along x take one row of a picture, or one drawing, after
# another.
WIDE_MIDDLES = ((16, 1),)
FEW_ROWS = 4
# Blocks side by side of a grid over pixels in a row: those at the picture's edges are among them.
MOST_IN_ROW = 64
DEPENDS = Reason(
    "depends-on-samples",
    "Its accesses depend on the picture's samples",
    "Its accesses depend on the picture's samples, so that they differ from picture to picture.",
)


def counted_run(job: AnyJob, checkpoint: Checkpoint = go_on) -> CountedRun:
    """Return what a job's launches execute and ask of memory, counted once and kept; or why they are not.

    `checkpoint` is called again and again; what it raises ends the counting.
    """
    if not job.variant.has_kernels:
        library = job.variant.library
        short = f"{library}'s kernels are not counted" if library else "It runs on the CPU"
        return CountedRun(not_counted=Reason("no-kernels", short))
    if (reason := why_not_compiled()) is not None:
        return CountedRun(not_counted=reason)
    return counted_passes(job, job.passes, checkpoint)


def counted_passes(
    job: AnyJob, passes: tuple[Pass, ...], checkpoint: Checkpoint = go_on, *, of_zeros: bool = False
) -> CountedRun:
    """Return the same of other passes with a job's arrays.

    `of_zeros`: what depends on samples counts as for a picture of zeros.
    """
    # Zeros in memory that is taken where it is touched.
    buffers = job.task.allocate(InterpreterBackend(), job)
    try:
        if not of_zeros and any(depends_on_contents(kernel_of(interpreter.ptx_of(step))) for step in passes):
            return CountedRun(not_counted=DEPENDS)
        return CountedRun(tuple(_counted(step, job.problem, buffers, checkpoint) for step in passes))
    except PtxError as error:
        return CountedRun(not_counted=Reason("not-counted", "It is not interpreted", str(error)))


_kept: dict[Hashable, CountedAccesses] = {}
"""What was counted, the newest last, by all that accesses depend on."""


def _counted(step: Pass, problem: Any, buffers: Buffers, checkpoint: Checkpoint) -> CountedAccesses:
    arrays = interpreter.arrays_of(step, buffers.image, buffers.out)

    def fact(argument: object) -> Hashable:
        is_array = isinstance(argument, Placeholder | Between)
        values = arrays[argument].values if is_array else argument
        if isinstance(values, np.ndarray):
            return values.shape, str(values.dtype)
        return None if isinstance(argument, float | np.floating) else argument

    picture = (problem.height, problem.width) if hasattr(problem, "height") else None
    shape, anchor = getattr(problem, "mask_shape", (1, 1)), getattr(problem, "anchor", (0, 0))
    # How many cells a result reaches to before and behind it, along the axis where it is most.
    radius = max(anchor), max(side - 1 - at for side, at in zip(shape, anchor, strict=True))
    constant = step.constant is not None and step.constant[1].shape
    key = step.name, step.kernel, step.launch, *map(fact, step.arguments), constant, picture, radius
    if key in _kept:
        return _kept[key]

    def between(done: float = 0.0) -> None:
        checkpoint(Progress("counting memory accesses", 0.5, 3.0))

    run = partial(interpreter.run_pass, step, arrays, between, checks=False)
    between()
    # One block tells how many instructions a thread executes.
    across, down, deep = step.launch.grid
    one_block = run(chosen_blocks=[(across // 2, down // 2, deep // 2)])
    instructions = sum(warps for _, warps, _ in one_block.executed) / -(-math.prod(step.launch.block) // 32)
    samples = sampled(step.launch.grid, _axes(step.launch, picture, radius, instructions))
    between()
    blocks, weights, own_places = map(list, zip(*samples, strict=True))
    sample_run = run(chosen_blocks=blocks, weights=weights)
    counts, executed = sample_run.counts, Counter[str]()
    for one, warps, _ in sample_run.executed:
        executed[one.spelling] += warps
    # Blocks that stand for others agree with those that stand for the same ones.
    same: dict[Hashable, float] = {}
    of_blocks = zip(own_places, counts.of_blocks, strict=True)
    is_exact = all(same.setdefault(place, count) == count for place, count in of_blocks)
    # Requests by memory, kind and array; its sectors stand at the first kind of each array.
    requests = defaultdict[tuple[str, str, str], Requests](Requests)
    for (_, space, kind, array), made in counts.accesses.items():
        requests["constant" if space == "const" else space, kind, array] += made
    sectors = dict(counts.block_sectors), dict(counts.launch_sectors)
    accesses = tuple(
        ArrayAccesses(*of, made, *(one.pop(of[2], 0) for one in sectors)) for of, made in requests.items()
    )
    _kept[key] = CountedAccesses(
        step.name, step.launch.blocks, len(samples), is_exact, accesses, counts.barriers, dict(executed)
    )
    if len(_kept) > MOST_KEPT:
        del _kept[next(iter(_kept))]
    return _kept[key]


def _axes(
    shape: Launch, picture: tuple[int, int] | None, radius: tuple[int, int], instructions: float
) -> tuple[Axis, ...]:
    """Return how the axes of a launch's grid are sampled, finer where each thread executes little."""
    across, down, _ = shape.grid
    threads = math.prod(shape.block)
    if shape.blocks * threads * instructions <= FEW_COUNTED:
        return tuple(Axis(0, count, 0) for count in shape.grid)
    if picture is not None:
        height, width = picture
        if down == 1 and height > 1 and across * shape.block[0] >= height * width:
            in_row = min(MOST_IN_ROW, max(1, width // shape.block[0]))
            return Axis(2, in_row, 2), Axis(1, 1, 1), Axis(1, 1, 1)

    def ends(count: int) -> tuple[int, int]:
        """Return how many blocks at both ends of an axis may differ from those in the middle."""
        if picture is None:
            return 1, 2
        side = max(1, min(picture) // count)
        before, behind = radius
        return max(1, -(-before // side)), 1 + max(1, -(-behind // side))

    for middle in (*WIDE_MIDDLES, *MIDDLES) if down <= FEW_ROWS else MIDDLES:
        (first_x, last_x), (first_y, last_y) = ends(across), ends(down)
        axes = Axis(first_x, middle[0], last_x), Axis(first_y, middle[1], last_y), Axis(1, 1, 1)
        blocks = math.prod(min(count, sum(axis)) for count, axis in zip(shape.grid, axes, strict=True))
        if blocks * threads * instructions <= MOST_COUNTED:
            break
    return axes
