"""Lower bounds of a filter on a GPU: the least time of each launch for each thing that it must do.

What the launches execute and ask of memory is counted (`engine.explain.counts`), and the rates are those
measured on the device (`engine.explain.limits`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.device.launches import Launch
from engine.explain.bounds.issued import (
    Weigh,
    is_tensor,
    issue_slots,
    multiply_adds,
    on_64_bit,
    tensor_multiply_adds,
)
from engine.explain.counts.accesses import BANKS, WARP, WORD_BYTES, CountedAccesses
from engine.explain.launch.gpu_limits import Gpu
from engine.explain.limits.device_limits import DeviceLimits, Limit
from engine.ptx.counts import SECTOR_BYTES
from engine.results.measurement import Bound

_WAVEFRONT_BYTES = BANKS * WORD_BYTES
SCHEDULERS = 4
"""Of a multiprocessor; each issues an instruction of one warp per clock (CUDA C++ Programming Guide,
"Hardware Multithreading", for all compute capabilities from 7.0 on)."""


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """The bounds of one launch, and what a sentence says of its instructions."""

    bounds: tuple[Bound, ...]
    uses_tensor_cores: bool
    instructions: float  # of warps
    on_64_bit: float  # those of them on 64-bit integers and addresses

    @property
    def least_ms(self) -> float:
        """The tallest bound."""
        return max((bound.ms for bound in self.bounds), default=0.0)


def bound_launch(launch: Launch, counted: CountedAccesses, gpu: Gpu, limits: DeviceLimits) -> BoundLaunch:
    """Return the bounds of a counted launch on a GPU of known limits."""
    bounds = [
        Bound(key, title, 1e3 * amount * uneven / rate.measured, amount, unit, rate.measured, source)
        for key, title, amount, unit, rate, source, uneven in _amounts(counted, launch, gpu, limits)
        if rate is not None and amount > 0
    ]
    uses_tensor_cores = any(map(is_tensor, counted.executed))
    return BoundLaunch(
        tuple(bounds), uses_tensor_cores, executed(counted, issue_slots), executed(counted, on_64_bit)
    )


def executed(counted: CountedAccesses, weigh: Weigh) -> float:
    """Return the sum of the weights of all instructions that the warps execute."""
    return sum(warps * weigh(spelling) for spelling, warps in counted.executed.items())


_Amount = tuple[str, str, float, str, Limit | None, str, float]


def _amounts(counted: CountedAccesses, launch: Launch, gpu: Gpu, limits: DeviceLimits) -> Iterator[_Amount]:
    """Yield what a launch must do.

    Key, title, how much of what, the device's rate, what it is counted from, and how much more of it the
    busiest multiprocessor has than the mean.
    """
    uneven, of_issue = _uneven(launch, gpu.attributes.multiprocessors)
    source = "executed PTX"
    moved = float(counted.launch_sectors * SECTOR_BYTES)
    copied = limits.copy_rate(moved)
    yield "copy", "copy", moved, "bytes", Limit(copied) if copied else None, source, 1.0
    wavefronts = counted.global_accesses.transactions + counted.shared_accesses.wavefronts
    shared = limits.shared_bytes_per_s
    rate = shared and Limit(shared.measured / _WAVEFRONT_BYTES)
    yield "l1", "L1 and shared memory", wavefronts, "wavefronts", rate, source, uneven
    issued, rate = executed(counted, issue_slots), limits.instructions_per_s
    yield "instructions", "instructions issued", issued, "instructions", rate, source, of_issue
    limit = limits.multiply_adds_per_s
    rate = limit and Limit(limit.measured / WARP)
    amount = executed(counted, multiply_adds)
    yield "multiply-adds", "multiply-adds", amount, "instructions", rate, source, of_issue
    for kind in ("int8", "float16"):
        limit = getattr(limits, f"{kind}_tensor_multiply_adds_per_s")
        amount = executed(counted, tensor_multiply_adds(kind))
        yield f"{kind}-tensor", f"tensor cores, {kind}", amount, "multiply-adds", limit, source, uneven
    blocks = float(launch.blocks)
    yield "blocks", "blocks started", blocks, "blocks", limits.blocks_per_s, "the grid", 1.0
    yield "launch", "launch", 1.0, "launches", limits.launches_per_s, "the plan", 1.0


def _uneven(launch: Launch, multiprocessors: int) -> tuple[float, float]:
    """Return how much more than the mean the busiest multiprocessor has to do, and its busiest scheduler.

    One has a whole number of blocks, the other a whole number of warps.
    """
    if not multiprocessors:
        return 1.0, 1.0
    blocks, warps = -(-launch.blocks // multiprocessors), -(-_threads(launch) // WARP)
    busiest = -(-blocks * warps // SCHEDULERS) * SCHEDULERS
    mean = launch.blocks / multiprocessors
    return blocks / mean, busiest / (mean * warps)


def _threads(launch: Launch) -> int:
    return launch.block[0] * launch.block[1] * launch.block[2]
