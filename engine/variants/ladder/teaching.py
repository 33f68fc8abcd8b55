"""What the teaching kernels share: declarations, arguments of a pass, models of work, refusals of masks."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from engine.device.launches import WEIGHTS, Kernel, Launch, Operand, Pass
from engine.geometry.block import FLOAT_BYTES, Block, Limits, Refusal, blocks_along
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.variants.passes import by_passes, filter_arguments, filter_pass, one_launch, refuse_launch
from engine.work.filtering.sum_order import SumOrder, by_rows
from engine.work.filtering.variants import (
    MaskClass,
    Variant,
    filter_work,
    loads_by_taps,
    taps_in_own_tile,
    tile_cells_inside,
)
from engine.work.problem import Problem

DEFAULT_BLOCK = Block(32, 8)


def one_pass(problem: Problem, mask: Mask, launches: tuple[Launch, ...], kernel: Kernel) -> tuple[Pass, ...]:
    """Return the one pass of a kernel that takes what every 2-D filter kernel takes (`filter_arguments`)."""
    return (filter_pass(kernel, problem, launches[0], filter_arguments(problem, mask)),)


def row_pass(problem: Problem, mask: Mask, launches: tuple[Launch, ...], kernel: Kernel) -> tuple[Pass, ...]:
    """Return the one pass of a 1-D kernel.

    It takes the image, weights (1-D), width, anchor column, ghost value, offset and out.
    """
    constants = (np.float32(problem.ghost_value), np.float32(mask.offset))
    arguments = (Operand.IMAGE, mask.weights32[0], problem.width, problem.anchor[1], *constants, Operand.OUT)
    return (filter_pass(kernel, problem, launches[0], arguments),)


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
        default_block=default_block,
        plan=plan,
        **by_passes(passes),
        unsupported=unsupported,
        **{"is_course_kernel": True, "sum_order": _sum_order, **traits},
    )


def _sum_order(problem: Problem, mask: Mask) -> SumOrder:
    return by_rows(mask.columns, is_fused=True)


def one_pass_variant(
    kernel_of: Callable[[Problem, Block], Kernel],
    shared_bytes: Callable[[tuple[int, int], Block], int] = lambda mask_shape, block: 0,
    *,
    tile: Callable[[tuple[int, int], Block], Block] = lambda mask_shape, block: block,
    constant_floats: Callable[[tuple[int, int]], int] = lambda mask_shape: 0,
    unsupported: Callable[[Problem, Mask, Block, Limits], Refusal | None] | None = None,
    pass_of: Callable[..., tuple[Pass, ...]] = one_pass,
    **traits: Any,
) -> Variant:
    """Return the variant of one kernel in one launch.

    `shared_bytes` and `tile` say, for a mask shape and a block, how much static shared memory a block uses,
    and which results it computes: by default one per thread. `constant_floats` says how many float32 the
    kernel declares in constant memory, which the mask's weights are copied to. `pass_of` makes the pass.
    """

    def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
        used, results = shared_bytes(problem.mask_shape, block), tile(problem.mask_shape, block)
        (launch,) = one_launch(problem, block, used, results)
        return (launch._replace(constant_bytes=FLOAT_BYTES * constant_floats(problem.mask_shape)),)

    def refuse(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
        return refuse_launch(problem, mask, block, limits, partial(shared_bytes, problem.mask_shape))

    def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
        made = pass_of(problem, mask, plan(problem, block), kernel_of(problem, block))
        count = constant_floats(problem.mask_shape)
        if not count:
            return made
        contents = np.zeros(count, np.float32)
        contents[: mask.taps] = mask.weights32.ravel()
        return tuple(step._replace(constant=(WEIGHTS, contents)) for step in made)

    return teaching_variant(passes, plan=plan, unsupported=unsupported or refuse, **traits)


def row_variant(
    kernel_of: Callable[[Problem, Block], Kernel],
    shared_bytes: Callable[[tuple[int, int], Block], int] = lambda mask_shape, block: 0,
    *,
    wider: str,
    unsupported: Callable[[Problem, Mask, Block, Limits], Refusal | None] | None = None,
    **traits: Any,
) -> Variant:
    """Return the variant of a 1-D kernel; `wider` is the 2-D variant that does the same with all masks."""

    def refuse(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
        if mask.rows > 1:
            return Refusal(
                "one-row-only",
                "A 1-D kernel takes a mask of one row",
                f"A 1-D kernel takes a mask of one row, and this one has {mask.rows}.",
                f"Take a mask of one row, or {wider}, which does the same with a mask of several rows.",
            )
        if unsupported is not None:
            return unsupported(problem, mask, block, limits)
        return refuse_launch(problem, mask, block, limits, partial(shared_bytes, problem.mask_shape))

    traits |= {"default_block": Block(256, 1), "masks": MaskClass.ONE_ROW}
    return one_pass_variant(kernel_of, shared_bytes, unsupported=refuse, pass_of=row_pass, **traits)


def refuse_wide_halo(
    shared_bytes: Callable[[tuple[int, int], Block], int],
) -> Callable[[Problem, Mask, Block, Limits], Refusal | None]:
    """Return the `unsupported` of a 1-D kernel whose threads load at most one cell of each halo."""

    def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
        wider = max(mask.anchor[1], mask.columns - 1 - mask.anchor[1])
        return refuse_launch(
            problem,
            mask,
            block,
            limits,
            partial(shared_bytes, mask.shape),
            least_x=wider,
            too_small=lambda: Refusal(
                "block-too-small",
                f"A block of {block} is narrower than the halo",
                f"The halo of this mask is {wider} cells wide and a block of {block} has {block.x} threads "
                "across; each loads one cell of it.",
            ),
        )

    return unsupported


def bytes_of_own_cells(mask_shape: tuple[int, int], block: Block) -> int:
    """Return the bytes of one float32 cell per thread, whatever the mask and the picture's type."""
    return block.threads * 4


def work_by_taps(problem: Problem, block: Block, *, constant_weights: bool = False) -> Work:
    """Return the work: each tap loads a cell from global memory (ghost cells cost no load) and a weight.

    The weights come from global memory, or from constant memory.
    """
    return filter_work(
        problem, picture_loads=loads_by_taps(problem), **_weight_loads(problem, constant_weights)
    )


def _weight_loads(problem: Problem, constant_weights: bool) -> dict[str, int]:
    return {"constant_loads" if constant_weights else "weight_loads": problem.multiply_adds}


def work_of_own_cells(problem: Problem, block: Block, *, constant_weights: bool = False) -> Work:
    """Return the work where each thread loads one cell into its block's tile.

    Taps in the tile read shared memory, all others global memory. The weights come from global memory, or
    from constant memory.
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
        shared_loads=in_tile,
        shared_stores=problem.samples,
        **_weight_loads(problem, constant_weights),
    )


def work_of_tiles(problem: Problem, tile: Block, *, constant_weights: bool = False) -> Work:
    """Return the work where the input tile of each output tile is loaded into shared memory once.

    Each tap reads its cell there, and a weight from global memory, or from constant memory.
    """
    rows, columns = problem.mask_shape
    ghosts = problem.border.has_ghost_cells
    loads_down = tile_cells_inside(problem.height, tile.y, rows, problem.anchor[0], ghosts)
    loads_across = tile_cells_inside(problem.width, tile.x, columns, problem.anchor[1], ghosts)
    tiles = blocks_along(problem.height, tile.y) * blocks_along(problem.width, tile.x) * problem.channels
    return filter_work(
        problem,
        picture_loads=loads_down * loads_across * problem.channels,
        shared_loads=problem.multiply_adds,
        shared_stores=tiles * (tile.y + rows - 1) * (tile.x + columns - 1),
        **_weight_loads(problem, constant_weights),
    )
