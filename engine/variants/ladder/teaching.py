"""What the teaching kernels share: declarations, arguments of a pass, models of work, refusals of masks."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from engine.device.launches import WEIGHTS, Kernel, Launch, Pass
from engine.geometry.block import FLOAT_BYTES, Block, Limits, Refusal, blocks_along
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.variants.passes import by_passes, filter_arguments, filter_pass, one_launch, refuse_launch
from engine.work.filtering import variants
from engine.work.filtering.sum_order import by_rows
from engine.work.filtering.variants import MaskClass, Variant, filter_work, loads_by_taps
from engine.work.problem import Problem


def teaching_variant(passes: Callable[[Problem, Mask, Block], tuple[Pass, ...]], **traits: Any) -> Variant:
    """Return the variant of a kernel: by default each thread computes one result, in any legal block."""
    by_default: dict[str, Any] = {
        "default_block": Block(32, 8),
        "plan": one_launch,
        "unsupported": refuse_launch,
        "is_course_kernel": True,
        "sum_order": lambda problem, mask: by_rows(mask.columns, is_fused=True),
    }
    return Variant(**by_passes(passes), **(by_default | traits))


def loads_of_own_taps(problem: Problem, block: Block) -> dict[str, int]:
    """Return what is loaded where each tap loads a cell from global memory; ghost cells cost no load."""
    return {"picture_loads": loads_by_taps(problem)}


def one_pass_variant(
    kernel_of: Callable[[Problem, Block], Kernel],
    shared_bytes: Callable[[tuple[int, int], Block], int] = lambda mask_shape, block: 0,
    *,
    wider: str = "",
    loads: Callable[[Problem, Block], dict[str, int]] = loads_of_own_taps,
    tile: Callable[[tuple[int, int], Block], Block] = lambda mask_shape, block: block,
    constant_floats: Callable[[tuple[int, int]], int] = lambda mask_shape: 0,
    unsupported: Callable[[Problem, Mask, Block, Limits], Refusal | None] | None = None,
    plan: Callable[[Problem, Block], tuple[Launch, ...]] | None = None,
    **traits: Any,
) -> Variant:
    """Return the variant of one kernel in one launch; the kernel takes `filter_arguments`.

    `shared_bytes` and `tile` say, for a mask shape and a block, how much static shared memory a block uses,
    and which results it computes: by default one per thread. `loads` is the work but for the weights, of
    which each tap loads one: from global memory, or from constant memory where `constant_floats` says how
    many float32 the kernel declares there, which they are copied to. `wider` is the variant that does with
    all masks what a 1-D kernel does with those of one row: such a kernel takes the image, weights (1-D),
    width, anchor column, ghost value, offset and out.
    """

    def planned(problem: Problem, block: Block) -> tuple[Launch, ...]:
        used, results = shared_bytes(problem.mask_shape, block), tile(problem.mask_shape, block)
        (launch,) = one_launch(problem, block, used, results)
        return (launch._replace(constant_bytes=FLOAT_BYTES * constant_floats(problem.mask_shape)),)

    plan = plan or planned

    def work(problem: Problem, block: Block) -> Work:
        memory = "constant_loads" if constant_floats(problem.mask_shape) else "weight_loads"
        return filter_work(problem, **loads(problem, block), **{memory: problem.multiply_adds})

    def refuse(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
        if wider and mask.rows > 1:
            short = "A 1-D kernel takes a mask of one row"
            remedy = f"Take a mask of one row, or {wider}, which does the same with a mask of several rows."
            return Refusal("one-row-only", short, f"{short}, and this one has {mask.rows}.", remedy)
        if unsupported is not None:
            return unsupported(problem, mask, block, limits)
        return refuse_launch(problem, mask, block, limits, partial(shared_bytes, problem.mask_shape))

    def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
        image, weights, width, anchor_row, anchor, *rest = filter_arguments(problem, mask)
        own = (mask.weights32[0], width, anchor) if wider else (weights, width, anchor_row, anchor)
        constant = None
        if count := constant_floats(problem.mask_shape):
            contents = np.zeros(count, np.float32)
            contents[: mask.taps] = mask.weights32.ravel()
            constant = WEIGHTS, contents
        (launch,), kernel = plan(problem, block), kernel_of(problem, block)
        return (filter_pass(kernel, problem, launch, (image, *own, *rest), constant),)

    if wider:
        traits |= {"default_block": Block(256, 1), "masks": MaskClass.ONE_ROW}
    return teaching_variant(passes, plan=plan, work=work, unsupported=refuse, **traits)


def bytes_of_own_cells(mask_shape: tuple[int, int], block: Block) -> int:
    """Return the bytes of one float32 cell per thread, whatever the mask and the picture's type."""
    return block.threads * 4


def loads_of_own_cells(problem: Problem, block: Block) -> dict[str, int]:
    """Return what is loaded and stored where each thread loads one cell into its block's tile.

    Taps in the tile read shared memory, all others global memory.
    """
    rows, columns = problem.mask_shape
    in_tile = (
        variants.taps_in_own_tile(problem.height, block.y, rows, problem.anchor[0])
        * variants.taps_in_own_tile(problem.width, block.x, columns, problem.anchor[1])
        * problem.channels
    )
    picture_loads = problem.samples + loads_by_taps(problem) - in_tile
    return {"picture_loads": picture_loads, "shared_loads": in_tile, "shared_stores": problem.samples}


def loads_of_tiles(problem: Problem, tile: Block) -> dict[str, int]:
    """Return the same where the input tile of each output tile is loaded into shared memory once."""
    rows, columns = problem.mask_shape
    ghosts = problem.border.has_ghost_cells
    loads_down = variants.tile_cells_inside(problem.height, tile.y, rows, problem.anchor[0], ghosts)
    loads_across = variants.tile_cells_inside(problem.width, tile.x, columns, problem.anchor[1], ghosts)
    tiles = blocks_along(problem.height, tile.y) * blocks_along(problem.width, tile.x) * problem.channels
    return {
        "picture_loads": loads_down * loads_across * problem.channels,
        "shared_loads": problem.multiply_adds,
        "shared_stores": tiles * (tile.y + rows - 1) * (tile.x + columns - 1),
    }
