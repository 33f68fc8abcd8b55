"""What the rest of the program knows about a device; `engine.device` finds it out. No Numba in here."""

from dataclasses import dataclass, field

from engine.geometry.block import Limits

AUTO = "auto"
"""In place of a key: any device that works."""
SIMULATOR = "simulator"


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

    @property
    def peak_gflops(self) -> float:
        """Multiply-adds of float32, two operations each, of all lanes at the highest clock."""
        return self.multiprocessors * self.lanes * 2 * self.clock_mhz / 1e3


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device, as the window and the command line show it."""

    key: str  # "cpu", "cuda:0", ..., "simulator"
    kind: str  # "cpu" or "cuda": which variants run there
    title: str
    available: bool = True
    reason: str = ""  # why it cannot be used and what to do; empty if it can
    times_mean_speed: bool = True  # false for the simulator, whose times are never shown as speed
    # For people: cores, memory, compute capability, driver, clocks.
    facts: dict[str, str] = field(default_factory=dict, hash=False)
    limits: Limits = field(default_factory=Limits)  # of a block on this device
    # Theoretical bandwidth of global memory, GB/s: memory clock x bus width x 2 (double data rate); None if
    # unknown.
    bandwidth_gb_s: float | None = None
    attributes: GpuAttributes | None = None  # of a real GPU

    @property
    def is_usable_gpu(self) -> bool:
        """Whether it is a real GPU, not the simulator, that can be used."""
        return self.available and self.kind == "cuda" and self.times_mean_speed


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine and the versions behind a result; `bandwidth_gb_s` as in `DeviceInfo`."""

    device: str
    driver: str = ""
    clocks: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""
    bandwidth_gb_s: float | None = None
