"""Every device with its facts, as `devices` lists them. No NumPy and no Numba in here: they load slowly."""

import platform
from contextlib import suppress
from functools import cache

from engine.cores import cores
from engine.device.cuda_presence import INSTALL, has_driver, missing
from engine.device.per_thread import ThreadChoice
from engine.device_info import SIMULATOR, SIMULATOR_PIXELS, DeviceInfo
from engine.reason import Reason


def listed_devices() -> tuple[DeviceInfo, ...]:
    """Return the CPU, each CUDA device (or one line why there is none), and the simulator.

    What the driver states; `engine.device.devices.devices` has asked each GPU for a context, too.
    """
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


def why_no_cuda() -> Reason | None:
    """Return why no GPU is looked for; None to look."""
    if missing:
        return _package_missing()
    return None if has_driver() else NO_DRIVER


def driver_unusable(why: object) -> Reason:
    """Return the reason of a driver that does not work."""
    return Reason("driver-unusable", f"The NVIDIA driver cannot be used: {why}")


def unusable_gpu(reason: Reason, key: str = "cuda:0") -> DeviceInfo:
    """Return a CUDA device that cannot be used, and why."""
    return DeviceInfo(key, "cuda", "CUDA device", available=False, reason=reason)


def _listed_gpus() -> tuple[DeviceInfo, ...]:
    if why_not := why_no_cuda():
        return (unusable_gpu(why_not),)
    # Loaded where there is a driver: it reads tables of the system.
    from engine.device import cuda_driver

    try:
        count = cuda_driver.gpu_count()
    except cuda_driver.DriverError as error:
        return (unusable_gpu(driver_unusable(error)),)

    def listed(number: int) -> DeviceInfo:
        try:
            return cuda_driver.gpu_info(number)
        except cuda_driver.DriverError as error:
            return unusable_gpu(driver_unusable(error), f"cuda:{number}")

    return tuple(map(listed, range(count))) or (unusable_gpu(NO_GPU),)


@cache
def _model() -> str:
    """Return the name of the CPU, read only so far: the system makes the part of each core as it is read."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
