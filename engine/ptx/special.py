"""Special registers: where a thread lies in its warp, block and grid."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.ptx.active import WARP
from engine.ptx.findings import Index3
from engine.ptx.types import Values


class Chunk(NamedTuple):
    """Blocks that run: their places in the grid, the slots of each, and the shape of the launch."""

    blocks: NDArray[np.int64]
    row: int
    grid: Index3
    block: Index3
    dynamic_shared: int
    shared_bytes: int


def special_of(chunk: Chunk, name: str) -> Values:
    """Return a special register of every slot, or a scalar where all have the same."""
    kind, _, axis = name[1:].partition(".")
    u32 = np.uint32
    at = "xyz".find(axis)
    if kind == "ntid":
        return u32(chunk.block[at])
    if kind == "nctaid":
        return u32(chunk.grid[at])
    slots = np.arange(len(chunk.blocks) * chunk.row)
    thread = slots % chunk.row
    if kind == "ctaid":
        numbers = chunk.blocks[:, at]
        same = (numbers == numbers[0]).all()
        return u32(numbers[0]) if same else numbers.astype(u32)[slots // chunk.row]
    if kind == "tid":
        width, height, _ = chunk.block
        if chunk.block[at] == 1:
            return u32(0)
        return ((thread, thread // width, thread // (width * height))[at] % chunk.block[at]).astype(u32)
    lane = thread % WARP
    one = np.uint64(1)
    bit = one << lane.astype(np.uint64)
    of_lane = {
        "laneid": lane,
        "warpid": thread // WARP,
        "lanemask_eq": bit,
        "lanemask_lt": bit - one,
        "lanemask_le": bit * np.uint64(2) - one,
        "lanemask_gt": ~(bit * np.uint64(2) - one),
        "lanemask_ge": ~(bit - one),
    }
    if kind in of_lane:
        return of_lane[kind].astype(u32)
    if kind == "nwarpid":
        return u32(chunk.row // WARP)
    return u32(chunk.dynamic_shared if kind == "dynamic_smem_size" else chunk.shared_bytes)
