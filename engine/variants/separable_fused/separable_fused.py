"""`separable-fused`: rows and columns in one kernel; what the first pass gives stays in the multiprocessor.

Idea
    A mask that is a column times a row is applied along the rows and then along the columns, as by
    `separable-l0`; but within a block, between two barriers.
Who loads what
    A block copies its input tile into shared memory with 16-byte copies that no thread waits for, filters
    each of its rows where it lies, and then its columns with the results of several rows in registers
    (`fused_in_place.py`). Where the tile of a large mask has no room, a block moves down the picture, and
    has a few input rows and a ring of filtered ones (`fused_ring.py`). The factors lie in constant memory
    that is written when a mask is prepared.
What it saves
    Against the two-pass variants: the scratch picture in global memory, written once and read at least once.
    Against `register-blocked`: rows + columns multiply-adds per result instead of rows x columns.
Limit
    Memory up to about 15 x 15. The rows that the mask reaches over a block are filtered again by the next
    one: 8 beside 32 of a mask of 9 rows, 32 beside 256 of one of 31, 62 beside 416 of one of 63 (4096 x
    4096).

Source: the fused passes of V. Podlozhnyuk, "Image Convolution with CUDA" (NVIDIA, 2007), section "Separable
convolution", kept in shared memory. The rounding is that of `engine/variants/ladder/two_passes.py`.
"""

from typing import Any

import numpy as np

from engine.device.launches import DeviceKind, Launch, Pass
from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.mask.mask import Mask
from engine.results.work import Work
from engine.variants.filter_passes import prepare_passes
from engine.variants.separable_fused import fused_in_place, fused_ring
from engine.variants.separable_fused.fused_in_place import in_place_shape
from engine.variants.separable_fused.fused_ring import ring_shape
from engine.variants.tiles.geometry import MAX_GRID_Y, refuse_shared_memory
from engine.variants.tiles.separable import refuse_mask, required_factors
from engine.work.filtering.problem import Problem
from engine.work.filtering.sum_order import SumOrder, two_passes
from engine.work.filtering.variants import Growth, MaskClass, Variant

MAX_SIDE = 63


def _way(problem: Problem) -> tuple[Any, Any]:
    """Return the module of the kernel, and its shape; a ring where only that has room or is high enough."""
    shape = in_place_shape(problem)
    if shape is None or fused_in_place.launch_of(problem, shape).grid[1] > MAX_GRID_Y:
        return fused_ring, ring_shape(problem)
    return fused_in_place, shape


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch; the block is the variant's own, 32 threads across."""
    way, shape = _way(problem)
    return (way.launch_of(problem, shape),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work, with what is filtered more than once."""
    way, shape = _way(problem)
    found: Work = way.work_of(problem, shape)
    return found


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is not a product or too large, or shared memory too small; None if all is well."""
    rows, columns = problem.mask_shape
    if max(rows, columns) > MAX_SIDE:
        return Refusal(
            "mask-too-large",
            f"Takes masks of up to {MAX_SIDE} × {MAX_SIDE}",
            f"A mask of {rows} × {columns} is longer than shared memory allows; it may have up to {MAX_SIDE} "
            "rows and columns.",
            "Use separable-l1 or separable-l0.",
        )
    refusal = refuse_mask(mask)
    if refusal is not None:
        return refusal
    (launch,) = plan(problem, block)
    # A picture may have any height: strips are as high as the grid needs.
    return refuse_shared_memory(problem, launch, limits.shared_bytes, "rows", "separable-l1")


def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    """Return the one pass.

    Raises
    ------
    UnsupportedVariant
        The mask is not one column times one row.
    """
    found = required_factors(mask)
    column, row = (np.asarray(one, np.float32) for one in (found.column, found.row))
    factors = column.reshape(-1, 1), row.reshape(1, -1)
    way, shape = _way(problem)
    # By their names: what shows a kernel's source follows these.
    pass_of = fused_ring.pass_of if way is fused_ring else fused_in_place.pass_of
    return (pass_of(problem, shape, factors, mask.offset),)


def sum_order(problem: Problem, mask: Mask) -> SumOrder:
    """Return the order of a result's sum: the second pass begins with the offset."""
    found = required_factors(mask)
    words = "Each row is added up with the row's weights, then these sums to the offset, from the top."
    return two_passes(found.row, found.column, begins_with_offset=True, words=words)


VARIANT = Variant(
    key="separable-fused",
    title="Separable, fused",
    device=DeviceKind.CUDA,
    idea="Rows and columns in one kernel: what the first pass gives stays in shared memory.",
    default_block=Block(32, fused_in_place.WARPS),
    plan=plan,
    work=work,
    prepare=prepare_passes(passes),
    unsupported=unsupported,
    passes=passes,
    sum_order=sum_order,
    uses_block=False,
    integer_output=True,
    masks=MaskClass.PRODUCTS,
    rank=1,
    grows_with=Growth.SIDES,
    most_rows=MAX_SIDE,
    most_columns=MAX_SIDE,
)
