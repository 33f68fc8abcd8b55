"""Clock and width of a CUDA device's memory, as its driver states them."""

from dataclasses import dataclass

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.numba_cuda import SIMULATED, cuda
from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable


@dataclass(frozen=True, slots=True)
class MemoryBus:
    """The bus between a device and its memory.

    Parameters
    ----------
    clock_mhz : float
        Memory clock; data goes twice a cycle.
    width_bits : int
    """

    clock_mhz: float
    width_bits: int

    @property
    def bytes_per_second(self) -> float:
        """Theoretical bandwidth: clock x width in bytes x 2 for double data rate.

        Source: COSC 407, "Measuring Performance: Bandwidth (BW)".
        """
        return self.clock_mhz * 1e6 * (self.width_bits / 8) * 2


def memory_bus(device: DeviceInfo) -> MemoryBus:
    """Return the memory bus of a real CUDA device.

    Raises
    ------
    DeviceUnavailable
        The device is simulated, or its driver states no such facts.
    """
    what = f"The memory of {device.title}"
    if SIMULATED:
        raise DeviceUnavailable(what, "a simulated device has none")
    with cuda_errors_in_words("asking for the memory's clock and width"):
        asked = cuda.gpus[int(device.key.partition(":")[2])]
        bus = MemoryBus(asked.MEMORY_CLOCK_RATE / 1e3, asked.GLOBAL_MEMORY_BUS_WIDTH)
    if bus.clock_mhz <= 0 or bus.width_bits <= 0:
        raise DeviceUnavailable(what, "its driver states neither clock nor width of the bus")
    return bus
