"""What a GPU has, as its driver states it, and in what units its multiprocessors hand that out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuAttributes:
    """What the driver states of a GPU, for occupancy and peaks; 0 where it does not know."""

    multiprocessors: int
    threads: int  # that a multiprocessor has room for, as all down to `shared_bytes`
    blocks: int
    registers: int
    shared_bytes: int
    reserved_shared_bytes: int  # of those, what CUDA itself takes for each block
    most_block_threads: int
    clock_mhz: float
    bandwidth_gb_s: float  # theoretical, of global memory: clock x width x 2
    memory_clock_mhz: float = 0.0
    bus_width_bits: int = 0
    host_bus_gb_s: float = 0.0  # theoretical, of PCI Express, in one direction
    lanes: int = 0  # of a multiprocessor, that multiply and add float32
    l2_bytes: int = 0  # of the L2 cache that all multiprocessors share
    # How a multiprocessor hands out what it has (`allocation_units`); by default exactly what is asked for.
    register_unit: int = 1  # a warp's registers are a multiple of this
    shared_unit: int = 1  # a block's bytes of shared memory are a multiple of this
    partitions: int = 1  # parts with registers of their own; a warp lies in one of them
    barriers: int = 0  # of blocks, that a multiprocessor has room for; 0: they limit nothing

    @property
    def peak_gflops(self) -> float:
        """Multiply-adds of float32, two operations each, of all lanes at the highest clock."""
        return self.multiprocessors * self.lanes * 2 * self.clock_mhz / 1e3


def allocation_units(compute_capability: tuple[int, int], blocks: int) -> dict[str, int]:
    """Return how the multiprocessors of a compute capability hand out registers, shared memory and barriers.

    `blocks` is how many blocks one has room for. Source: `cuda_occupancy.h` of the CUDA toolkit 13.
    """
    major, _ = compute_capability
    # Before 9.0 barriers limit nothing.
    has_two_each = major == 9 or compute_capability == (10, 0)
    return {
        "register_unit": 256,
        "shared_unit": 256 if major < 8 else 128,
        "partitions": 4,
        "barriers": blocks * (1 + has_two_each) if major >= 9 else 0,
    }
