"""Every device with its facts, as `devices` lists them. No NumPy and no Numba in here: they load slowly.

And whether CUDA is there to be used (importing Numba's CUDA target takes 0.65 s), and for the record the
versions of libraries and the commit of a checkout.
"""

import ctypes
import importlib
import importlib.util
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from engine.device_info import SIMULATOR, SIMULATOR_PIXELS, DeviceInfo, GpuAttributes, allocation_units
from engine.errors import Reason
from engine.geometry.block import Limits
from engine.process import ThreadChoice, cores

with suppress(ImportError):
    # It puts numba-cuda in the place of `numba.cuda`; Python imported it at its start, if it was there.
    importlib.import_module("_numba_cuda_redirector")
missing = "" if importlib.util.find_spec("numba_cuda") else "numba-cuda is not installed"
INSTALL = "Install it: pip install 'haloscope[cuda]' (there is none for macOS)."


def has_driver() -> bool:
    """Return whether the library of the NVIDIA driver is found, as by Numba; it may still not work."""
    return bool(os.environ.get("NUMBA_CUDA_DRIVER")) or driver_library() is not None


@cache
def driver_library() -> ctypes.CDLL | None:
    """Return the library of the NVIDIA driver; None where there is none."""
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so", "libcuda.so.1")
    paths = (*names, *(f"/usr/{folder}/{name}" for folder in ("lib", "lib64") for name in names))
    chosen = os.environ.get("NUMBA_CUDA_DRIVER")
    for path in (chosen,) if chosen else paths:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def listed_devices() -> tuple[DeviceInfo, ...]:
    """Return the CPU, each CUDA device that the driver states (or why there is none), and the simulator."""
    return (cpu_info(), *_listed_gpus(), simulator_info())


def cpu_info() -> DeviceInfo:
    """Return the facts of the CPU."""
    count = cores()
    title = f"CPU, {count} core{'s' if count != 1 else ''}"
    facts = {"model": _model(), "cores": str(_asking_cores() or count)}
    return DeviceInfo("cpu", "cpu", title, facts=facts)


_asking_cores = ThreadChoice(0)
cpu_chosen_as = _asking_cores.within
"""Let `auto` choose as where there are so many cores: the same variant on each machine."""


def simulator_info() -> DeviceInfo:
    """Return the facts of the simulator, which needs NVIDIA's compiler and no driver."""
    return DeviceInfo(
        key=SIMULATOR,
        kind="cuda",
        title="CUDA simulator",
        available=not missing,
        reason=_package_missing() if missing else None,
        times_mean_speed=False,
        facts={
            "what it is": "an interpreter of PTX: what a GPU would run, checked for races and wrong accesses",
            "times": "mean nothing and are never shown as speed",
            "pictures": f"up to {SIMULATOR_PIXELS:,} pixels",
        },
    )


def _package_missing() -> Reason:
    return Reason("package-missing", missing, remedy=INSTALL)


NO_GPU = Reason("no-gpu", "The NVIDIA driver is installed, but it finds no GPU")
NO_DRIVER = Reason("no-driver", "No NVIDIA driver")


def driver_unusable(why: object) -> Reason:
    """Return the reason of a driver that does not work."""
    return Reason("driver-unusable", f"The NVIDIA driver cannot be used: {why}")


def unusable_gpu(reason: Reason, key: str = "cuda:0") -> DeviceInfo:
    """Return a CUDA device that cannot be used, and why."""
    return DeviceInfo(key, "cuda", "CUDA device", available=False, reason=reason)


def _listed_gpus() -> tuple[DeviceInfo, ...]:
    if missing or not has_driver():
        return (unusable_gpu(_package_missing() if missing else NO_DRIVER),)
    gpus = []
    try:
        count = gpu_count()
    except DriverError as error:
        return (unusable_gpu(driver_unusable(error)),)
    for number in range(count):
        try:
            gpus.append(gpu_info(number))
        except DriverError as error:
            gpus.append(unusable_gpu(driver_unusable(error), f"cuda:{number}"))
    return tuple(gpus) or (unusable_gpu(NO_GPU),)


@cache
def _model() -> str:
    """Return the name of the CPU, read only so far: the system makes the part of each core as it is read."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


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
    memory_clock_mhz, bus_width_bits = stated["MEMORY_CLOCK_RATE"] / 1e3, stated["GLOBAL_MEMORY_BUS_WIDTH"]
    attributes = GpuAttributes(
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
        lanes=_LANES.get((major, minor), _MOST_LANES),
        l2_bytes=stated["L2_CACHE_SIZE"],
        **allocation_units((major, minor), stated["MAX_BLOCKS_PER_MULTIPROCESSOR"]),
    )
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
    number, arguments = ctypes.c_int(), (ctypes.c_int(_DEVICE_ORDINAL), ctypes.c_uint64(address))
    _call("cuPointerGetAttribute", ctypes.byref(number), *arguments)
    return number.value


def memory_bytes_per_second(clock_mhz: float, bus_width_bits: float) -> float:
    """Return the bandwidth of memory: clock x width in bytes x 2 (COSC 407, "Measuring Performance")."""
    return clock_mhz * 1e6 * (bus_width_bits / 8) * 2


def host_bus_gb_s(domain: int, bus: int, device: int) -> float:
    """Return the most that a PCI device's link can do in one direction, GB/s; 0 if it is not known."""
    folder = PCI_DEVICES / f"{domain:04x}:{bus:02x}:{device:02x}.0"
    try:
        speed, width = ((folder / f"max_link_{name}").read_text() for name in ("speed", "width"))
        gigatransfers, lanes = float(speed.split()[0]), int(width)
    except (OSError, ValueError, IndexError):
        return 0.0
    # Up to 5 GT/s 8 of 10 bits are data, from 8 GT/s on 128 of 130.
    data = 8 / 10 if gigatransfers <= 5 else 128 / 130
    return gigatransfers * data * lanes / 8


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
    if (called := getattr(library, function, None)) is None:
        raise DriverError(f"its library has no {function}")
    if result := called(*arguments):
        name = ctypes.c_char_p()
        library.cuGetErrorName(ctypes.c_int(result), ctypes.byref(name))
        # "CUDA_ERROR_NOT_INITIALIZED"; its number where the driver has none.
        error = name.value.decode(errors="replace") if name.value else f"error {result}"
        raise DriverError(f"{function} fails with {error}", result)


SERVER_VARIABLE = "HALOSCOPE_SERVER"
"""What this machine is called on the one where results are looked at; set by `engine.remote`."""

COMMIT_VARIABLE = "HALOSCOPE_COMMIT"
"""Which commit a copy of a checkout is of; `bench.recorded --commit` sets it."""

_PACKAGES = (
    "numpy", "numba", "numba-cuda", "llvmlite", "cuda-bindings", "cuda-core", "nvidia-nvvm",
    "nvidia-nvjitlink",
)  # fmt: skip


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that take part, by name."""
    # 15 ms: only where a result is recorded.
    from importlib.metadata import PackageNotFoundError, version

    installed = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def where() -> str:
    """Return what follows the names of devices for a user on another machine: " on user@server"."""
    server = os.environ.get(SERVER_VARIABLE, "")
    return f" on {server}" if server else ""


@cache
def commit() -> str:
    """Return the commit of this checkout, as `commit_of`; of a copy without git what COMMIT_VARIABLE says."""
    return commit_of(Path(__file__).parents[2]) or os.environ.get(COMMIT_VARIABLE, "")


def commit_of(root: Path) -> str:
    """Return the short hash of a checkout's commit: "abc123def456 + changes" if tracked files differ.

    Empty outside a checkout, without git, and where git does not answer in time.
    """
    if not (root / ".git").exists():
        return ""
    # 10 ms: only where a result is recorded.
    import subprocess

    def output(*command: str) -> bytes:
        # Bytes: names of files need not be text. No locks: reading must not disturb another git command.
        git = ["git", "--no-optional-locks", "-C", str(root), *command]
        return subprocess.run(git, capture_output=True, check=True, timeout=5).stdout

    try:
        short_hash = output("rev-parse", "--short=12", "HEAD")
        is_changed = output("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return short_hash.decode("ascii", "replace").strip() + (" + changes" if is_changed else "")
