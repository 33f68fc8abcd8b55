"""The launches of a variant on a GPU, before any run: resident blocks, occupancy, waves, halo, idle threads.

What the window is told of them, and curves: pure arithmetic, no device is asked. No Numba in here.
Curves, the data of plots, show occupancy against one of them while everything else stays as it is, as in
NVIDIA's calculator.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.device.device_list import INSTALL, missing
from engine.device_info import GpuAttributes
from engine.errors import Reason
from engine.results.launch_facts import WARP, KernelResources, LaunchFacts, Occupancy, occupancy_of


@dataclass(frozen=True, slots=True)
class ExplainedLaunch:
    """One launch, as it would be."""

    facts: LaunchFacts
    occupancy: Occupancy  # without registers where they are not known: then at most this
    constant_bytes: int  # that the kernel declares

    @property
    def is_compiled(self) -> bool:
        """Whether the registers are known."""
        return self.facts.registers is not None


def why_not_compiled() -> Reason | None:
    """Return why this process compiles no kernels, or None."""
    if missing:
        return Reason("package-missing", f"Not compiled: {missing}", remedy=INSTALL)
    return None


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
