"""What the rest of the program knows about a device, which `engine.device` finds out. No Numba in here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from engine.errors import Reason
from engine.geometry.block import Limits


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
    # How a multiprocessor hands out what it has (`allocation_units`); by default exactly what is requested.
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


AUTO = "auto"  # in place of a key: any device that works
ALL_GPUS = "cuda:all"  # in place of a key, for what can be spread: all GPUs that work
RECORDED = "recorded"
"""In place of the key of a device, in a run that came with the program: another machine made it."""
SIMULATOR = "simulator"
INTERPRETED_PER_S = 5e6  # multiply-adds, or loads, that the simulator does per second
SIMULATOR_PIXELS = 2 << 20
"""The pixels of a picture that the simulator takes: 2 to 20 s for a kernel that is not slow."""
SIMULATOR_SIDE = 512  # the side of the part of a larger picture that is offered to it: a second or two


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device, as the window and the command line show it."""

    key: str  # "cpu", "cuda:0", ..., "simulator"
    kind: str  # "cpu" or "cuda": which variants run there
    title: str
    available: bool = True
    reason: Reason | None = None  # why it cannot be used; None if it can
    times_mean_speed: bool = True  # false for the simulator, whose times are never shown as speed
    # For people: cores, memory, compute capability, driver, clocks.
    facts: dict[str, str] = field(default_factory=dict, hash=False)
    limits: Limits = field(default_factory=Limits)  # of a block on this device
    # Theoretical bandwidth of global memory, GB/s: memory clock x bus width x 2 (double data rate); None if
    # unknown.
    bandwidth_gb_s: float | None = None
    attributes: GpuAttributes | None = None  # of a real GPU

    def as_json(self) -> dict[str, object]:
        """Return the device as plain data for JSON; the reason is text."""
        return asdict(self) | {"reason": str(self.reason or "")}

    @property
    def is_usable_gpu(self) -> bool:
        """Whether it is a real GPU, not the simulator, that can be used."""
        return self.available and self.kind == "cuda" and self.times_mean_speed


def titles(devices: "Sequence[DeviceInfo]") -> tuple[str, ...]:
    """Return the titles of devices, with their keys where there are several: they may be of one kind."""
    if len(devices) == 1:
        return (devices[0].title,)
    return tuple(f"{device.title} ({device.key})" for device in devices)
