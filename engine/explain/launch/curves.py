"""Curves of occupancy against the block's threads, registers and shared memory: the data of plots.

Pure integers. Along each curve everything else stays as it is, as in NVIDIA's calculator.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.gpu_attributes import GpuAttributes
from engine.results.launch_facts import WARP, KernelResources, occupancy_of

MOST_REGISTERS = 255
"""That a thread can have, on every GPU since compute capability 3.5."""
STATIC_BYTES = 48 * 1024
"""The most static shared memory of a block, on every GPU."""
_REGISTER_STEP, _BYTE_STEP = 8, 1024


class CurvePoint(NamedTuple):
    """The occupancy at one place of a curve."""

    at: int  # threads, registers per thread, or bytes
    blocks: int  # resident on a multiprocessor
    share: float  # the occupancy, 0 to 1


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a launch, each from low to high; no registers where they are not known."""

    threads: tuple[CurvePoint, ...]  # of a block, whole warps
    registers: tuple[CurvePoint, ...]  # per thread
    shared_bytes: tuple[CurvePoint, ...]  # per block


def curves(threads: int, resources: KernelResources, gpu: GpuAttributes) -> Curves:
    """Return the curves through the launch of a block of so many threads."""

    def curve(
        places: Iterable[int], at: Callable[[int], tuple[int, KernelResources]]
    ) -> tuple[CurvePoint, ...]:
        points = ((place, occupancy_of(*at(place), gpu)) for place in places)
        return tuple(CurvePoint(place, found.blocks, found.share) for place, found in points)

    registers = (*range(_REGISTER_STEP, MOST_REGISTERS, _REGISTER_STEP), MOST_REGISTERS)
    return Curves(
        curve(range(WARP, gpu.most_block_threads + 1, WARP), lambda many: (many, resources)),
        curve(
            registers if resources.registers else (),
            lambda many: (threads, resources._replace(registers=many)),
        ),
        curve(
            range(0, STATIC_BYTES + 1, _BYTE_STEP),
            lambda many: (threads, resources._replace(shared_bytes=many)),
        ),
    )
