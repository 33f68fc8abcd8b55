"""The launches behind a run: registers, shared memory, occupancy, waves, halo and idle threads of each.

What a run keeps of its launches, so that files say it without the device. No Numba in here.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from engine.gpu_attributes import GpuAttributes
from engine.results.occupancy import Occupancy, occupancy, waves
from engine.results.work import BlockShares

Sides = tuple[int, int, int]


class KernelResources(NamedTuple):
    """What a compiled kernel takes."""

    registers: int  # per thread
    shared_bytes: int  # static, per block
    local_bytes: int  # per thread: spilled registers, and arrays of its own
    constant_bytes: int = 0
    barriers: int = 0  # per block


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """One launch of a run; None for what is not known."""

    grid: Sides  # blocks along x, y, z
    block: Sides  # threads along x, y, z
    registers: int | None = None  # per thread
    shared_bytes: int | None = None  # per block
    local_bytes: int | None = None  # per thread: spilled registers, and arrays of its own
    resident_blocks: int | None = None  # of a multiprocessor
    occupancy: float | None = None  # resident warps over those that there is room for
    limited_by: str = ""  # what allows no further block
    waves: float | None = None
    last_wave: float | None = None  # how full it is, above 0 and up to 1
    halo_redundancy: float | None = None  # as `BlockShares` has them, also the next one
    idle_threads: float | None = None

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]


def occupancy_of(threads: int, resources: KernelResources, gpu: GpuAttributes) -> Occupancy:
    """Return the occupancy of blocks of so many threads of a kernel."""
    return occupancy(threads, resources.registers, resources.shared_bytes, gpu, resources.barriers)


def launch_facts(
    grid: Sides,
    block: Sides,
    resources: KernelResources | None,
    gpu: GpuAttributes | None,
    shares: BlockShares = BlockShares(),  # noqa: B008 - it is a tuple
) -> LaunchFacts:
    """Return the facts of a launch; without resources or a GPU those that are known all the same.

    Resources of 0 registers are those of a plan: of what is not compiled, its shared memory is known.
    """
    facts = LaunchFacts(grid, block, halo_redundancy=shares.halo_redundancy, idle_threads=shares.idle_threads)
    if resources is None:
        return facts
    facts = replace(facts, shared_bytes=resources.shared_bytes)
    if resources.registers:
        facts = replace(facts, registers=resources.registers, local_bytes=resources.local_bytes)
    if gpu is None:
        return facts
    found = occupancy_of(facts.threads, resources, gpu)
    of_grid = waves(facts.blocks, found.blocks, gpu)
    return replace(
        facts,
        resident_blocks=found.blocks,
        occupancy=found.share,
        limited_by=found.limited_by,
        waves=of_grid and of_grid.number,
        last_wave=of_grid and of_grid.last,
    )
