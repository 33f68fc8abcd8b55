"""Which devices there are, which can be used, and why another cannot."""

import threading
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

from engine.device.backend import Backend
from engine.device.cpu import CpuBackend
from engine.device.cuda_presence import SIMULATED
from engine.device.device_list import (
    NO_DRIVER,
    NO_GPU,
    cpu_info,
    driver_unusable,
    simulator_info,
    unusable_gpu,
    why_no_cuda,
)
from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable
from engine.reason import Reason

__all__ = ["backend", "device_named", "devices", "own_process_needed"]

Made = TypeVar("Made")

# Reentrant: making a backend asks for its device.
_MAKING = threading.RLock()


def made_once(make: Callable[..., Made]) -> Callable[..., Made]:
    """Return `make` with its results cached, in one thread at a time.

    Numba takes the driver for ready as soon as one thread begins to start it: a second thread would get
    CUDA_ERROR_NOT_INITIALIZED, and that would be cached.
    """
    kept = cache(make)

    @wraps(make)
    def made(*arguments: Hashable) -> Made:
        with _MAKING:
            return kept(*arguments)

    return made


@made_once
def devices() -> tuple[DeviceInfo, ...]:
    """Return every device: the CPU, each CUDA device (or one line why there is none), and the simulator."""
    return (cpu_info(), *_cuda_devices(), simulator_info())


def _cuda_devices() -> tuple[DeviceInfo, ...]:
    if SIMULATED:
        return ()
    if why_not := why_no_cuda():
        return (unusable_gpu(why_not),)
    from engine.device.cuda import cuda_info
    from engine.device.numba_cuda import cuda

    try:
        count = len(cuda.gpus)
    except Exception as error:  # noqa: BLE001 - the CPU must work with any broken driver
        return (unusable_gpu(_why_no_driver(error)),)
    if count == 0:
        return (unusable_gpu(NO_GPU),)
    found = []
    for number in range(count):
        try:
            found.append(cuda_info(number))
        except Exception as error:  # noqa: BLE001 - as above, for one device of several
            found.append(unusable_gpu(_why_no_driver(error), f"cuda:{number}"))
    return tuple(found)


def _why_no_driver(error: Exception) -> Reason:
    why = " ".join(str(error).split()).removeprefix("Error at driver init:").strip(" :.")
    if "driver library cannot be found" in why:
        return NO_DRIVER
    return driver_unusable(why)


def device_named(key: str) -> DeviceInfo:
    """Return the device of that key ("auto": a CUDA device if one works, else the CPU; "cuda": the first).

    Raises DeviceUnavailable where there is no such device, or it cannot be used.
    """
    if key == "cpu":
        # Without a look at the GPUs, which starts the driver.
        return cpu_info()
    known = devices()
    if key == "auto":
        return next((d for d in known if d.key.startswith("cuda:") and d.available), known[0])
    wanted = "cuda:0" if key == "cuda" else key
    for device in known:
        if device.key == wanted:
            if not device.available:
                remedy = "Use the CPU (device cpu or auto), or install the driver of an NVIDIA GPU."
                raise DeviceUnavailable(f"device '{key}'", str(device.reason), remedy)
            return device
    remedy = f"Choose one of {', '.join(['auto', *(device.key for device in known if device.available)])}."
    raise DeviceUnavailable(f"device '{key}'", "there is no such device here", remedy)


def own_process_needed(device: DeviceInfo) -> bool:
    """Return whether the device needs another process: Numba simulates in a whole process or not at all."""
    return device.key == "simulator" and not SIMULATED


@made_once
def backend(key: str) -> Backend:
    """Return the backend of a device of this process, made once; raises DeviceUnavailable."""
    device = device_named(key)
    if device.key == "cpu":
        return CpuBackend()
    if own_process_needed(device):
        why = "this process was not started for it"
        raise DeviceUnavailable("The CUDA simulator", why, "Set NUMBA_ENABLE_CUDASIM=1 before the start.")
    from engine.device.cuda import CudaBackend

    return CudaBackend(device)
