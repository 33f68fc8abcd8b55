"""What the driver states of a GPU: apart from `device_info.py`, which programs without a GPU load too."""

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

    @property
    def peak_gflops(self) -> float:
        """Multiply-adds of float32, two operations each, of all lanes at the highest clock."""
        return self.multiprocessors * self.lanes * 2 * self.clock_mhz / 1e3
