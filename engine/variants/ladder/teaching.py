"""What the teaching kernels share: declarations, arguments of a pass, models of work, refusals of masks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from engine.device.cuda_kernels import (
    filter_arguments,
    filter_signature,
    image_type,
    prepare_passes,
    result_type,
)
from engine.device.launches import DeviceKind, Launch, Operand, Pass
from engine.geometry.block import Block
from engine.geometry.block_rules import Refusal
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.work import filter_work, loads_by_taps, taps_in_own_tile, tile_cells_inside
from engine.tasks.work import Work
from engine.variants.contract import Variant
from engine.variants.ladder.geometry import blocks_along, one_launch, refuse_launch

DEFAULT_BLOCK = Block(32, 8)


def teaching_variant(
    passes: Callable[[Problem, Mask, Block], tuple[Pass, ...]],
    *,
    plan: Callable[[Problem, Block], tuple[Launch, ...]] = one_launch,
    unsupported: Callable[..., Refusal | None] = refuse_launch,
    default_block: Block = DEFAULT_BLOCK,
    **traits: Any,
) -> Variant:
    """Return the variant of a kernel: by default each thread computes one result, in any legal block."""
    return Variant(
        device=DeviceKind.CUDA,
        default_block=default_block,
        plan=plan,
        prepare=prepare_passes(passes),
        unsupported=unsupported,
        passes=passes,
        **traits,
    )


def one_pass(problem: Problem, mask: Mask, launches: tuple[Launch, ...], kernel: Any) -> tuple[Pass, ...]:
    """Return the one pass of a kernel that takes what every 2-D filter kernel takes (`filter_arguments`)."""
    signature, arguments = filter_signature(problem), filter_arguments(problem, mask)
    return (Pass(kernel.py_func.__name__, kernel, signature, launches[0], arguments),)


def row_pass(problem: Problem, mask: Mask, launches: tuple[Launch, ...], kernel: Any) -> tuple[Pass, ...]:
    """Return the one pass of a 1-D kernel.

    It takes the image, weights (1-D), width, anchor column, ghost value, offset and out.
    """
    numbers = (types.int64, types.int64, types.float32, types.float32)
    signature = (image_type(problem), types.Array(types.float32, 1, "C"), *numbers, result_type(problem))
    constants = (np.float32(problem.ghost_value), np.float32(mask.offset))
    arguments = (Operand.IMAGE, mask.weights32[0], problem.width, problem.anchor[1], *constants, Operand.OUT)
    return (Pass(kernel.py_func.__name__, kernel, signature, launches[0], arguments),)


def refuse_several_rows(mask: Mask, wider_key: str) -> Refusal | None:
    """Return why a 1-D variant refuses a mask, naming the 2-D variant to use; None for a mask of one row."""
    if mask.rows == 1:
        return None
    return Refusal(
        f"A 1-D kernel takes a mask of one row, and this one has {mask.rows}. Take a mask of one row, or "
        f"{wider_key}, which does the same with a mask of several rows."
    )


def work_by_taps(problem: Problem, block: Block) -> Work:
    """Return the work: each tap loads a cell (ghost cells cost no load) and a weight from global memory."""
    return filter_work(problem, picture_loads=loads_by_taps(problem), weight_loads=problem.multiply_adds)


def work_of_own_cells(problem: Problem, block: Block) -> Work:
    """Return the work where each thread loads one cell into its block's tile.

    Taps in the tile read shared memory, all others global memory.
    """
    rows, columns = problem.mask_shape
    in_tile = (
        taps_in_own_tile(problem.height, block.y, rows, problem.anchor[0])
        * taps_in_own_tile(problem.width, block.x, columns, problem.anchor[1])
        * problem.channels
    )
    return filter_work(
        problem,
        picture_loads=problem.samples + loads_by_taps(problem) - in_tile,
        weight_loads=problem.multiply_adds,
        shared_loads=in_tile,
        shared_stores=problem.samples,
    )


def work_of_tiles(problem: Problem, tile: Block) -> Work:
    """Return the work where the input tile of each output tile is loaded into shared memory once.

    Each tap reads its cell there, and a weight from global memory.
    """
    rows, columns = problem.mask_shape
    ghosts = problem.border.has_ghost_cells
    loads_down = tile_cells_inside(problem.height, tile.y, rows, problem.anchor[0], ghosts)
    loads_across = tile_cells_inside(problem.width, tile.x, columns, problem.anchor[1], ghosts)
    tiles = blocks_along(problem.height, tile.y) * blocks_along(problem.width, tile.x) * problem.channels
    return filter_work(
        problem,
        picture_loads=loads_down * loads_across * problem.channels,
        weight_loads=problem.multiply_adds,
        shared_loads=problem.multiply_adds,
        shared_stores=tiles * (tile.y + rows - 1) * (tile.x + columns - 1),
    )
