"""How a launch fills a device: occupancy, waves, and the facts of a launch that are kept with its run.

A file keeps registers, shared memory, occupancy, waves, halo and idle threads, so that it says them without
the device.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from engine.device_info import GpuAttributes

WARP = 32


class ResourceLimit(NamedTuple):
    """How many blocks one resource of a multiprocessor has room for."""

    what: str  # "threads", "blocks", "registers", "shared memory", "barriers"
    blocks: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The blocks of a launch that a multiprocessor holds at once."""

    block_warps: int  # of a block: whole ones, so that 10 x 10 threads have 4
    most_warps: int  # that a multiprocessor has room for
    limits: tuple[ResourceLimit, ...]
    refusal: str = ""  # why no such block can be launched; empty if it can

    @property
    def blocks(self) -> int:
        """Blocks that are resident on a multiprocessor."""
        return 0 if self.refusal else min(limit.blocks for limit in self.limits)

    @property
    def warps(self) -> int:
        """Warps that are resident on a multiprocessor."""
        return self.blocks * self.block_warps

    @property
    def share(self) -> float:
        """Resident warps over those that there is room for: the occupancy."""
        return self.warps / self.most_warps

    @property
    def limited_by(self) -> str:
        """What allows no further block, in words; several where they allow as many."""
        if self.refusal:
            return self.refusal
        return ", ".join(limit.what for limit in self.limits if limit.blocks == self.blocks)


def occupancy(
    threads: int, registers: int, shared_bytes: int, gpu: GpuAttributes, barriers: int = 0
) -> Occupancy:
    """Return the occupancy of blocks of so many threads, with so many registers for each of them.

    Registers of 0 are not known and limit nothing; shared bytes, static and dynamic, and barriers are of a
    block.

    Examples
    --------
    >>> g80 = GpuAttributes(16, 768, 8, 8192, 16384, 0, 512, 1350.0, 86.4)
    >>> [occupancy(side * side, 10, 8 * side * side, g80).blocks for side in (8, 16, 32)]
    [8, 3, 0]
    """
    warps, most_warps = -(-threads // WARP), gpu.threads // WARP
    limits = [ResourceLimit("blocks", gpu.blocks), ResourceLimit("threads", most_warps // warps)]
    if registers:
        of_warp = _rounded_up(registers * WARP, gpu.register_unit)
        # Whether a block can be launched at all is decided as if its warps filled all partitions alike.
        is_possible = of_warp * _rounded_up(warps, gpu.partitions) <= gpu.registers
        warps_held = gpu.registers // gpu.partitions // of_warp * gpu.partitions
        limits.append(ResourceLimit("registers", warps_held // warps if is_possible else 0))
    shared = _rounded_up(shared_bytes + gpu.reserved_shared_bytes, gpu.shared_unit)
    if shared:
        limits.append(ResourceLimit("shared memory", gpu.shared_bytes // shared))
    if barriers and gpu.barriers:
        limits.append(ResourceLimit("barriers", gpu.barriers // barriers))
    refusal = f"a block may have {gpu.most_block_threads:,} threads"
    is_too_large = threads > gpu.most_block_threads
    return Occupancy(warps, most_warps, tuple(limits), refusal if is_too_large else "")


def waves(blocks: int, resident_blocks: int, gpu: GpuAttributes) -> tuple[float, float] | None:
    """Return how often a GPU is filled until all blocks of a grid have run, and how full the last wave is.

    The first is the blocks of the grid over those that all multiprocessors hold at once. None where no block
    fits or the GPU's size is not known.

    Examples
    --------
    >>> h200 = GpuAttributes(132, 2048, 32, 65536, 233472, 1024, 1024, 1980.0, 4800.0)
    >>> waves(660, 4, h200)
    (1.25, 0.25)
    """
    at_once = resident_blocks * gpu.multiprocessors
    if not at_once:
        return None
    number = blocks / at_once
    return number, (blocks - (math.ceil(number) - 1) * at_once) / at_once


def _rounded_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


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
    # Cells under the mask for all results of a block, each counted once, per result: the input tile over the
    # output tile.
    halo_redundancy: float | None = None
    idle_threads: float | None = None  # as `Launch` has it

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
    halo_redundancy: float | None = None,
    idle_threads: float | None = None,
) -> LaunchFacts:
    """Return the facts of a launch; without resources or a GPU those that are known all the same.

    Resources of 0 registers are those of a plan: of what is not compiled, its shared memory is known.
    """
    facts = LaunchFacts(grid, block, halo_redundancy=halo_redundancy, idle_threads=idle_threads)
    if resources is None:
        return facts
    local = resources.local_bytes if resources.registers else None
    registers, shared = resources.registers or None, resources.shared_bytes
    facts = replace(facts, registers=registers, shared_bytes=shared, local_bytes=local)
    if gpu is None:
        return facts
    occupancy = occupancy_of(facts.threads, resources, gpu)
    number, last = waves(facts.blocks, occupancy.blocks, gpu) or (None, None)
    by, share = occupancy.limited_by, occupancy.share
    return replace(
        facts, resident_blocks=occupancy.blocks, occupancy=share, limited_by=by, waves=number, last_wave=last
    )
