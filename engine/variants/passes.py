"""What variants plan and launch: grids, refusals, loads of tiles; passes with their arguments and types."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from engine.compiled.late_names import numpy_support, types
from engine.device import launches
from engine.device.launches import Between, DeviceKind, Kernel, Launch, Operand, Pass, Placeholder, Prepared
from engine.geometry.block import MAX_GRID_Y, Block, Limits, Refusal, SharedBytes, blocks_along, refuse_grid
from engine.mask.mask import Mask
from engine.process import interprets
from engine.work.filtering.variants import cells_inside
from engine.work.problem import Problem

VECTOR = 4
"""Samples that are loaded and stored at once: 16 bytes of float32."""


def whole_vectors(samples: int) -> int:
    """Return a number of samples rounded up to whole vectors."""
    return -(-samples // VECTOR) * VECTOR


class Shape:
    """What follows from the numbers that a kernel is made for; the same where all of it is."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self)})"


def one_launch(
    problem: Problem, block: Block, shared_bytes: int = 0, tile: Block | None = None
) -> tuple[Launch, ...]:
    """Return a launch whose blocks each compute a tile of results, by default one result per thread."""
    return (Launch.of_threads(*problem.result_shape, block, shared_bytes, tile),)


def launch_of_samples(
    problem: Problem, samples: int, rows: int, warps: int, shared_bytes: int, constant_bytes: int = 0
) -> Launch:
    """Return the launch of blocks of `warps` warps that have `rows` rows of `samples` results each."""
    grid = (blocks_along(problem.width * problem.channels, samples), blocks_along(problem.height, rows), 1)
    tile = Block(samples, rows)
    return Launch(grid, (32, warps, 1), shared_bytes, constant_bytes, tile, problem.samples)


def loads_of_tiles(
    problem: Problem, launch: Launch, before: int, samples: int, bands: Iterable[tuple[int, int]]
) -> int:
    """Return the elements of the picture that tiles load: all their cells, but no ghost cells.

    The launch is of blocks of results side by side. A tile's row has `samples` in all, `before` of these
    before its results. Of each tile down, `bands` have the first row above the results, less the mask's rows
    above the anchor, and its rows.
    """
    assert launch.tile is not None
    lefts = [block * launch.tile.x - before for block in range(launch.grid[0])]
    if not problem.border.has_ghost_cells:
        return len(lefts) * samples * sum(rows for _, rows in bands)
    columns = sum(cells_inside(left, left + samples, problem.width * problem.channels) for left in lefts)
    tops = ((top - problem.anchor[0], rows) for top, rows in bands)
    return columns * sum(cells_inside(top, top + rows, problem.height) for top, rows in tops)


def refuse_launch(
    problem: Problem,
    mask: Mask,
    block: Block,
    limits: Limits,
    shared_bytes: SharedBytes = lambda block: 0,
    **more: Any,
) -> Refusal | None:
    """Return why a block, its shared memory or its grid is illegal, whatever the mask: `refuse_grid`."""
    return refuse_grid(problem.height, block, limits, shared_bytes, **more)


def refuse_shared_memory(
    problem: Problem, launch: Launch, most: int, kept: str, instead: str
) -> Refusal | None:
    """Return why a variant that has blocks of its own has no room for what it keeps there, or None."""
    needed, (rows, columns) = f"{launch.shared_bytes:,} bytes of shared memory", problem.mask_shape
    if launch.shared_bytes <= most:
        return None
    detail = f"A mask of {rows} × {columns} on {problem.channels} channels needs {needed} for its {kept}"
    remedy = f"Use {instead}, or fewer channels."
    return Refusal("shared-memory", f"Needs {needed}", f"{detail}; a block has {most:,}.", remedy)


def refuse_long_mask(mask_shape: tuple[int, int], most: int, why: str, instead: str) -> Refusal | None:
    """Return why a mask has more rows or columns than a variant takes, or None."""
    rows, columns = mask_shape
    if max(rows, columns) <= most:
        return None
    short = f"Takes masks of up to {most} × {most}"
    long = f"A mask of {rows} × {columns} {why}; it may have up to {most} rows and columns."
    return Refusal("mask-too-large", short, long, f"Use {instead}.")


def refuse_rows(problem: Problem, launch: Launch, rows_of_block: int) -> Refusal | None:
    """Return why a picture is too high for a variant that has blocks of its own, or None."""
    if launch.grid[1] <= MAX_GRID_Y:
        return None
    most = f"{MAX_GRID_Y * rows_of_block:,}"
    detail = f"{problem.height:,} rows need more blocks down than CUDA allows; it takes up to {most}."
    return Refusal("grid-too-high", f"Takes pictures of up to {most} rows", detail)


P = TypeVar("P")
C = TypeVar("C")


def interpreted(steps: Sequence[Pass | launches.HostStep]) -> Prepared:
    """Return steps made ready for the interpreter."""
    made: Prepared = import_module("engine.device.interpreter").InterpretedPasses(steps)
    return made


def filter_arguments(problem: Problem, mask: Mask) -> tuple[object, ...]:
    """Return the arguments of a filter kernel: image, weights, width, anchor, ghost value, offset, out.

    The width is an argument of its own, because rows on the device may be padded: one compiled kernel serves
    both layouts.
    """
    return (
        Operand.IMAGE,
        mask.weights32,
        problem.width,
        *problem.anchor,
        np.float32(problem.ghost_value),
        np.float32(mask.offset),
        Operand.OUT,
    )


def by_passes(passes: Callable[[P, C, Block], tuple[Pass, ...]]) -> dict[str, Any]:
    """Return what a variant of CUDA kernels is like that consists of these passes."""

    def prepare(problem: P, constant: C, block: Block) -> Prepared:
        if interprets():
            return interpreted(passes(problem, constant, block))
        from engine.device.cuda_kernels import PreparedPasses

        return PreparedPasses(passes(problem, constant, block))

    return {"device": DeviceKind.CUDA, "passes": passes, "prepare": prepare}


def type_of(dtype: Any, axes: int = 0) -> Any:
    """Return the Numba type of a number, or of a dense array of so many axes, as an argument of a kernel."""
    number = numpy_support.from_dtype(np.dtype(dtype))
    return types.Array(number, axes, "C") if axes else number


Types = Mapping[Placeholder, tuple[str, int]]
"""The type of the numbers, and how many axes it has, of each array that is there when a pass is launched."""


def made_pass(
    kernel: Kernel,
    launch: Launch,
    arguments: tuple[object, ...],
    types: Types,
    constant: tuple[str, np.ndarray] | None = None,
    name: str = "",
) -> Pass:
    """Return the pass of a kernel, under its own name or another; its types follow from the arguments."""

    def kind_of(argument: object) -> object:
        if isinstance(argument, Placeholder):
            return type_of(*types[argument])
        if isinstance(argument, np.ndarray | Between):
            return type_of(argument.dtype, len(argument.shape))
        return type_of(np.float32 if isinstance(argument, np.float32) else np.int64)

    signature = tuple(map(kind_of, arguments))
    return Pass(name or kernel.py_func.__name__, kernel, signature, launch, arguments, constant)


def filter_pass(
    kernel: Kernel,
    problem: Problem,
    launch: Launch,
    arguments: tuple[object, ...],
    constant: tuple[str, np.ndarray] | None = None,
) -> Pass:
    """Return the pass of a filter kernel."""
    dtypes = {Operand.IMAGE: problem.dtype, Operand.OUT: problem.result_dtype, Operand.SCRATCH: "float32"}
    return made_pass(kernel, launch, arguments, {one: (dtype, 3) for one, dtype in dtypes.items()}, constant)
