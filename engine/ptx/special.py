"""Special registers: where a thread lies in its warp, block and grid."""

from typing import TYPE_CHECKING

import numpy as np

from engine.ptx.active import WARP
from engine.ptx.types import Values

if TYPE_CHECKING:
    from engine.ptx.access import Machine


def special_of(machine: "Machine", name: str) -> Values:
    """Return a special register of every slot, or a scalar where all have the same."""
    kind, _, axis = name[1:].partition(".")
    u32 = np.uint32
    at = "xyz".find(axis)
    if kind == "ntid":
        return u32(machine.block[at])
    if kind == "nctaid":
        return u32(machine.grid[at])
    slots = np.arange(len(machine.blocks) * machine.row)
    thread = slots % machine.row
    if kind == "ctaid":
        numbers = machine.blocks[:, at]
        same = (numbers == numbers[0]).all()
        return u32(numbers[0]) if same else numbers.astype(u32)[slots // machine.row]
    if kind == "tid":
        width, height, _ = machine.block
        if machine.block[at] == 1:
            return u32(0)
        return ((thread, thread // width, thread // (width * height))[at] % machine.block[at]).astype(u32)
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
        return u32(machine.row // WARP)
    return u32(machine.layout.dynamic_shared if kind == "dynamic_smem_size" else machine.shared_bytes)
