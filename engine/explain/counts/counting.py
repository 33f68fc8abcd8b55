"""Counts what a variant's launches ask of memory, from its own kernels, in a few representative blocks.

The threads of these blocks run in lockstep (`lockstep.py`) on arrays without values: a launch takes 0.01 to
0.5 s, with masks of 63 x 63 up to 3 s, no device and no copy of the picture. The counts do not depend on the
picture's samples; a kernel whose accesses do is not counted. Local memory is not counted.

They are what the source asks for. A compiler may load once what the source loads twice, or load what a branch
leaves out; `bench/ncu.py` compares them with what a device counts.

Called on: the main thread of the engine's process, or of a script.
"""

import inspect
import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from engine.device.launches import Between, Pass, Placeholder
from engine.explain.counts.accesses import CountedAccesses, CountedRun
from engine.explain.counts.launch_arrays import LaunchArrays, Memory, launch_arrays
from engine.explain.counts.lockstep import Index3, Lockstep
from engine.explain.counts.lockstep_arrays import LockstepArray
from engine.explain.counts.lockstep_source import in_lockstep
from engine.explain.counts.sampled_blocks import Axis, Sample, sampled
from engine.explain.counts.unknown import UNKNOWN, NotCounted
from engine.geometry.block import Block
from engine.geometry.layout import FLOAT_BYTES
from engine.reason import Reason
from engine.results.progress import Checkpoint, Progress
from engine.run.task import AnyJob
from engine.run.variant import AnyVariant, C, P

MOST_KEPT = 64
# Threads times accesses of each that are counted for one launch: about 1 s.
MOST_COUNTED = 3e7
# So many are counted whole: every block of the grid.
FEW_COUNTED = 3e6
# Threads that run at once then: 2 MB for each value that differs between them.
MOST_THREADS = 1 << 18
# Blocks in the middle along x and y, best first: 8 neighbours have every offset in a line of 128 bytes.
MIDDLES = ((8, 2), (4, 2), (2, 1), (1, 1))
# The same for a grid of few rows, whose blocks along x take one row of a picture, or one drawing, after
# another.
WIDE_MIDDLES = ((16, 1),)
FEW_ROWS = 4
# Blocks side by side of a grid over pixels in a row: those at the picture's edges are among them.
MOST_IN_ROW = 64


def _go_on(step: Progress) -> None:
    """Do not stop."""


def counted_run(job: AnyJob, checkpoint: Checkpoint = _go_on) -> CountedRun:
    """Return what a job's launches ask of memory, counted once and kept; or why they are not counted.

    `checkpoint` is called again and again; what it raises ends the counting.
    """
    constant = job.task.constant(job.operands)
    return counted_launches(job.variant, job.problem, constant, job.block, launch_arrays(job), checkpoint)


def counted_launches(
    variant: AnyVariant[P, C],
    problem: P,
    constant: C,
    block: Block,
    arrays: LaunchArrays,
    checkpoint: Checkpoint = _go_on,
) -> CountedRun:
    """Return the same of a variant with its problem, the arrays of its launches and its constant."""
    if not variant.has_kernels:
        library = f"{variant.library}'s kernels are not counted" if variant.library else "It runs on the CPU"
        return CountedRun(not_counted=Reason("no-kernels", library))
    passes = variant.passes(problem, constant, block)
    picture, radius = _picture_of(problem), _radius_of(problem)
    try:
        return CountedRun(tuple(_kept(_Launch(step, arrays, picture, radius, checkpoint)) for step in passes))
    except NotCounted as error:
        return CountedRun(not_counted=error.reason)


def _picture_of(problem: Any) -> tuple[int, int] | None:
    """Return the height and width of a problem with a picture."""
    return (problem.height, problem.width) if hasattr(problem, "height") else None


def _radius_of(problem: Any) -> tuple[int, int]:
    """Return how many cells a result reaches to before and behind it, along the axis where it is most."""
    shape, anchor = getattr(problem, "mask_shape", (1, 1)), getattr(problem, "anchor", (0, 0))
    behind = max(side - 1 - at for side, at in zip(shape, anchor, strict=True))
    return max(anchor), behind


@dataclass(frozen=True)
class _Launch:
    """A launch to count. Two are the same where nothing that accesses depend on differs."""

    step: Pass = field(compare=False)
    arrays: LaunchArrays = field(compare=False)
    picture: tuple[int, int] | None
    radius: tuple[int, int]
    checkpoint: Checkpoint = field(compare=False)
    key: Hashable = field(init=False)

    def __post_init__(self) -> None:
        step = self.step

        def facts(argument: Any) -> Hashable:
            if isinstance(argument, Placeholder | Between):
                return self.arrays.of(argument)
            if isinstance(argument, np.ndarray):
                return argument.shape, str(argument.dtype)
            return None if isinstance(argument, float | np.floating) else argument

        constant = step.constant is not None and step.constant[1].shape
        arguments = tuple(map(facts, step.arguments))
        object.__setattr__(self, "key", (step.name, step.kernel, step.launch, arguments, constant))


@lru_cache(maxsize=MOST_KEPT)
def _kept(launch: _Launch) -> CountedAccesses:
    step, grid = launch.step, launch.step.launch.grid
    # One block tells how many accesses threads make one after the other.
    across, down, deep = grid
    one_block = _counted(launch, [(across // 2, down // 2, deep // 2)])
    samples = sampled(grid, _axes(launch, one_block.log.records))
    run = _counted(launch, [one.block for one in samples])
    weights = np.array([one.weight for one in samples])
    return CountedAccesses(
        step.name,
        step.launch.blocks,
        len(samples),
        _is_exact(samples, run.log.per_block()),
        run.log.accesses(weights),
        round(float(weights @ run.log.of_blocks(run.log.barriers))),
        run.log.places(weights),
        run.log.loops(weights),
    )


def _counted(launch: _Launch, blocks: list[Index3]) -> Lockstep:
    """Return the run of some blocks of a launch."""

    def between() -> None:
        launch.checkpoint(Progress("counting memory accesses", 0.5, 3.0))

    run = Lockstep(blocks, launch.step.launch.block, between)
    between()
    kernel_in_lockstep(launch.step, launch.arrays, run)
    run.log.finish()
    return run


def kernel_in_lockstep(
    step: Pass, arrays: LaunchArrays, run: Lockstep, values: dict[Any, np.ndarray] | None = None
) -> None:
    """Run a pass's kernel for the blocks of `run`, on arrays without values or on those that are given.

    `values` has an array for each placeholder; then the pass's own arrays hold their values, too.
    """
    names = list(inspect.signature(step.kernel.py_func).parameters)
    constant = None
    if step.constant is not None:
        contents = step.constant[1].ravel()
        held = None if values is None else contents
        constant = LockstepArray(run, "constant", "constant", contents.shape, FLOAT_BYTES, held)

    def argument_of(name: str, argument: Any) -> Any:
        if isinstance(argument, Placeholder | Between):
            memory = arrays.of(argument)
            held = None if values is None else values[argument]
        elif isinstance(argument, np.ndarray):
            memory, held = Memory(argument.shape, argument.itemsize), None if values is None else argument
        elif isinstance(argument, float | np.floating):
            return UNKNOWN if values is None else argument
        else:
            return argument
        is_constant = step.constant is not None and isinstance(argument, np.ndarray)
        space = "constant" if is_constant else "global"
        flat = None if held is None else held.reshape(-1)
        return LockstepArray(run, name, space, memory.shape, memory.itemsize, flat)

    arguments = [argument_of(*pair) for pair in zip(names, step.arguments, strict=True)]
    kernel = in_lockstep(step.kernel.py_func, run, constant, has_values=values is not None)
    # Threads that do not take part may have any numbers.
    with np.errstate(all="ignore"):
        kernel(*arguments)


def _axes(launch: _Launch, accesses: int) -> tuple[Axis, ...]:
    """Return how the axes of a launch's grid are sampled, finer where each thread makes few accesses."""
    shape = launch.step.launch
    across, down, _ = shape.grid
    threads = math.prod(shape.block)
    if shape.blocks * threads <= min(MOST_THREADS, FEW_COUNTED / max(1, accesses)):
        return tuple(Axis(0, count, 0) for count in shape.grid)
    if launch.picture is not None:
        height, width = launch.picture
        if down == 1 and height > 1 and across * shape.block[0] >= height * width:
            in_row = min(MOST_IN_ROW, max(1, width // shape.block[0]))
            return Axis(2, in_row, 2), Axis(1, 1, 1), Axis(1, 1, 1)

    def ends(count: int) -> tuple[int, int]:
        """Return how many blocks at both ends of an axis may differ from those in the middle."""
        if launch.picture is None:
            return 1, 2
        side = max(1, min(launch.picture) // count)
        before, behind = launch.radius
        return max(1, -(-before // side)), 1 + max(1, -(-behind // side))

    for middle in (*WIDE_MIDDLES, *MIDDLES) if down <= FEW_ROWS else MIDDLES:
        (first_x, last_x), (first_y, last_y) = ends(across), ends(down)
        axes = Axis(first_x, middle[0], last_x), Axis(first_y, middle[1], last_y), Axis(1, 1, 1)
        blocks = math.prod(min(count, sum(axis)) for count, axis in zip(shape.grid, axes, strict=True))
        if blocks * threads * accesses <= MOST_COUNTED:
            break
    return axes


def _is_exact(samples: list[Sample], per_block: np.ndarray) -> bool:
    """Return whether blocks that stand for others agree with those that stand for the same ones."""
    same: dict[Hashable, np.ndarray] = {}
    return all(
        np.array_equal(same.setdefault(one.place, counts), counts)
        for one, counts in zip(samples, per_block, strict=True)
    )


def blocks_of(grid: Index3) -> list[Index3]:
    """Return all blocks of a grid."""
    return [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
