"""What the NVIDIA driver states of its GPUs, asked through `ctypes`. No NumPy and no Numba in here.

So a list of devices needs neither Numba's CUDA target, whose import takes 0.65 s, nor a context on a GPU.
"""

import ctypes
from functools import cache
from pathlib import Path

from engine.device.cuda_presence import driver_library
from engine.device_info import DeviceInfo
from engine.geometry.block import Limits
from engine.gpu_attributes import GpuAttributes, allocation_units

_INVALID_VALUE, _NO_DEVICE = 1, 100  # CUDA_ERROR_...
_PROHIBITED = 2  # CU_COMPUTEMODE_PROHIBITED
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL

# CUdevice_attribute of cuda.h, without its prefix.
ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": 1,
    "MAX_BLOCK_DIM_X": 2,
    "MAX_BLOCK_DIM_Y": 3,
    "MAX_SHARED_MEMORY_PER_BLOCK": 8,
    "CLOCK_RATE": 13,
    "MULTIPROCESSOR_COUNT": 16,
    "COMPUTE_MODE": 20,
    "PCI_BUS_ID": 33,
    "PCI_DEVICE_ID": 34,
    "MEMORY_CLOCK_RATE": 36,
    "GLOBAL_MEMORY_BUS_WIDTH": 37,
    "L2_CACHE_SIZE": 38,
    "MAX_THREADS_PER_MULTIPROCESSOR": 39,
    "PCI_DOMAIN_ID": 50,
    "COMPUTE_CAPABILITY_MAJOR": 75,
    "COMPUTE_CAPABILITY_MINOR": 76,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 81,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 82,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 106,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": 111,
}

# Where Linux states the bus between host and GPU: PCI Express, its speed and its width.
PCI_DEVICES = Path("/sys/bus/pci/devices")

# Up to 5 GT/s 8 of 10 bits are data, from 8 GT/s on 128 of 130.
_EIGHT_OF_TEN_UP_TO = 5.0

# Lanes of a multiprocessor that multiply and add float32, by compute capability, and as many as on all others
# since 5.0: CUDA C++ Programming Guide, "Arithmetic Instructions".
_LANES = {(6, 0): 64, (7, 0): 64, (7, 5): 64, (8, 0): 64}
_MOST_LANES = 128


class DriverError(Exception):
    """A call of the driver failed; the text says which and how."""


def gpu_count() -> int:
    """Return how many GPUs the driver finds; raises DriverError where it cannot be used."""
    count = ctypes.c_int()
    try:
        _call("cuInit", ctypes.c_uint(0))
        _call("cuDeviceGetCount", ctypes.byref(count))
    except DriverError as error:
        if error.args[1:] == (_NO_DEVICE,):
            return 0
        raise
    return count.value


def gpu_info(number: int) -> DeviceInfo:
    """Return the facts of a GPU; raises DriverError.

    Whether a process gets a context there (the memory may be full) is seen only where it asks for one.
    """
    device, total, version = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    _call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(number))
    _call("cuDeviceGetName", name, ctypes.c_int(len(name)), device)
    _call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
    _call("cuDriverGetVersion", ctypes.byref(version))
    stated = {key: _attribute(code, device) for key, code in ATTRIBUTES.items()}
    if stated["COMPUTE_MODE"] == _PROHIBITED:
        raise DriverError(f"the compute mode of GPU {number} lets no process use it")
    major, minor = stated["COMPUTE_CAPABILITY_MAJOR"], stated["COMPUTE_CAPABILITY_MINOR"]
    attributes = _attributes(stated, (major, minor))
    return DeviceInfo(
        key=f"cuda:{number}",
        kind="cuda",
        title=name.value.decode(errors="replace"),
        facts={
            "compute capability": f"{major}.{minor}",
            "multiprocessors": str(attributes.multiprocessors),
            "memory": f"{total.value / 1e9:.0f} GB",
            "L2 cache": f"{stated['L2_CACHE_SIZE'] / 1e6:.0f} MB",
            "clock": f"{attributes.clock_mhz:.0f} MHz",
            "memory clock": f"{attributes.memory_clock_mhz:.0f} MHz",
            "shared memory per block": f"{stated['MAX_SHARED_MEMORY_PER_BLOCK']:,} bytes",
            "driver API": f"{version.value // 1000}.{version.value % 1000 // 10}",
        },
        bandwidth_gb_s=attributes.bandwidth_gb_s or None,
        limits=Limits(
            max_threads=stated["MAX_THREADS_PER_BLOCK"],
            max_block_x=stated["MAX_BLOCK_DIM_X"],
            max_block_y=stated["MAX_BLOCK_DIM_Y"],
            shared_bytes=stated["MAX_SHARED_MEMORY_PER_BLOCK"],
            compute_capability=(major, minor),
        ),
        attributes=attributes,
    )


def gpu_of_memory(address: int) -> int:
    """Return the number of the GPU whose memory an address is in; raises DriverError."""
    number = ctypes.c_int()
    _call(
        "cuPointerGetAttribute", ctypes.byref(number), ctypes.c_int(_DEVICE_ORDINAL), ctypes.c_uint64(address)
    )
    return number.value


def memory_bytes_per_second(clock_mhz: float, bus_width_bits: float) -> float:
    """Return the theoretical bandwidth of memory: clock x width in bytes x 2 for double data rate.

    Source: COSC 407, "Measuring Performance: Bandwidth (BW)".
    """
    return clock_mhz * 1e6 * (bus_width_bits / 8) * 2


def host_bus_gb_s(domain: int, bus: int, device: int) -> float:
    """Return the theoretical bandwidth of a PCI device's link in one direction, GB/s; 0 where nobody says.

    It is the most that device and slot agreed on: an idle link runs slower.
    """
    folder = PCI_DEVICES / f"{domain:04x}:{bus:02x}:{device:02x}.0"
    try:
        speed, width = ((folder / f"max_link_{name}").read_text() for name in ("speed", "width"))
        gigatransfers, lanes = float(speed.split()[0]), int(width)
    except (OSError, ValueError, IndexError):
        return 0.0
    data = 8 / 10 if gigatransfers <= _EIGHT_OF_TEN_UP_TO else 128 / 130
    return gigatransfers * data * lanes / 8


def _attributes(stated: dict[str, int], compute_capability: tuple[int, int]) -> GpuAttributes:
    memory_clock_mhz, bus_width_bits = stated["MEMORY_CLOCK_RATE"] / 1e3, stated["GLOBAL_MEMORY_BUS_WIDTH"]
    return GpuAttributes(
        multiprocessors=stated["MULTIPROCESSOR_COUNT"],
        threads=stated["MAX_THREADS_PER_MULTIPROCESSOR"],
        blocks=stated["MAX_BLOCKS_PER_MULTIPROCESSOR"],
        registers=stated["MAX_REGISTERS_PER_MULTIPROCESSOR"],
        shared_bytes=stated["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"],
        reserved_shared_bytes=stated["RESERVED_SHARED_MEMORY_PER_BLOCK"],
        most_block_threads=stated["MAX_THREADS_PER_BLOCK"],
        clock_mhz=stated["CLOCK_RATE"] / 1e3,
        bandwidth_gb_s=memory_bytes_per_second(memory_clock_mhz, bus_width_bits) / 1e9,
        memory_clock_mhz=memory_clock_mhz,
        bus_width_bits=bus_width_bits,
        host_bus_gb_s=host_bus_gb_s(stated["PCI_DOMAIN_ID"], stated["PCI_BUS_ID"], stated["PCI_DEVICE_ID"]),
        lanes=_LANES.get(compute_capability, _MOST_LANES),
        l2_bytes=stated["L2_CACHE_SIZE"],
        **allocation_units(compute_capability, stated["MAX_BLOCKS_PER_MULTIPROCESSOR"]),
    )


def _attribute(code: int, device: ctypes.c_int) -> int:
    """Return an attribute; 0 where the driver is older than it."""
    value = ctypes.c_int()
    try:
        _call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(code), device)
    except DriverError as error:
        if error.args[1:] != (_INVALID_VALUE,):
            raise
    return value.value


def _call(function: str, *arguments: object) -> None:
    library = driver_library()
    if library is None:
        raise DriverError("the library of the driver is not found")
    called = getattr(library, function, None)
    if called is None:
        raise DriverError(f"its library has no {function}")
    result = called(*arguments)
    if result:
        raise DriverError(f"{function} fails with {_name_of(result)}", result)


@cache
def _name_of(result: int) -> str:
    """Return the name of an error, "CUDA_ERROR_NOT_INITIALIZED"; its number where the driver has none."""
    name = ctypes.c_char_p()
    library = driver_library()
    if library is not None:
        library.cuGetErrorName(ctypes.c_int(result), ctypes.byref(name))
    return name.value.decode(errors="replace") if name.value else f"error {result}"
