"""What the rest of the program knows about a device; `engine.device` finds it out. No Numba in here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from engine.geometry.block import Limits
from engine.gpu_attributes import GpuAttributes
from engine.reason import Reason

AUTO = "auto"
"""In place of a key: any device that works."""
ALL_GPUS = "cuda:all"
"""In place of a key, for what can be spread: all GPUs that work."""
RECORDED = "recorded"
"""In place of the key of a device, in a run that came with the program: another machine made it."""
SIMULATOR = "simulator"
INTERPRETED_PER_S = 5e6
"""Multiply-adds, or loads, that the simulator does per second."""
SIMULATOR_PIXELS = 2 << 20
"""The pixels of a picture that the simulator takes: 2 to 20 s for a kernel that is not slow."""
SIMULATOR_SIDE = 512
"""The side of the part of a larger picture that is offered to it: a second or two."""


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
