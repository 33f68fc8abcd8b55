"""Every device with its facts, as `devices` lists them. No NumPy and no Numba in here: they load slowly."""

import platform
from contextlib import suppress
from functools import cache

from engine.device.core_count import cores
from engine.device.cuda_presence import SIMULATED, has_driver, missing
from engine.device_info import SIMULATOR_SIDE, DeviceInfo


def listed_devices() -> tuple[DeviceInfo, ...]:
    """Return the CPU, each CUDA device (or one line why there is none), and the simulator.

    What the driver states; `engine.device.devices.devices` has used each GPU, too, and says where one gives
    no context.
    """
    return (cpu_info(), *_listed_gpus(), simulator_info())


def cpu_info() -> DeviceInfo:
    """Return the facts of the CPU."""
    count = cores()
    title = f"CPU, {count} core{'s' if count != 1 else ''}"
    return DeviceInfo("cpu", "cpu", title, facts={"model": _model(), "cores": str(count)})


def simulator_info() -> DeviceInfo:
    """Return the facts of the simulator, which needs no driver."""
    return DeviceInfo(
        key="simulator",
        kind="cuda",
        title="CUDA simulator",
        times_mean_speed=False,
        facts={
            "what it is": "the real kernels, run in Python, thread by thread",
            "times": "mean nothing and are never shown as speed",
            "pictures": f"up to {SIMULATOR_SIDE} x {SIMULATOR_SIDE}",
        },
    )


def why_no_cuda() -> str | None:
    """Return why no GPU is looked for; empty in the simulator, which has none beside itself; None to look."""
    if SIMULATED:
        return ""
    if missing:
        return f"{missing}. Install it with the other requirements (there is none for macOS)."
    return None if has_driver() else "No NVIDIA driver."


def unusable_gpu(reason: str, key: str = "cuda:0") -> DeviceInfo:
    """Return a CUDA device that cannot be used, and why."""
    return DeviceInfo(key, "cuda", "CUDA device", available=False, reason=reason)


NO_GPU = "The NVIDIA driver is installed, but it finds no GPU."


def _listed_gpus() -> tuple[DeviceInfo, ...]:
    why_not = why_no_cuda()
    if why_not is not None:
        return (unusable_gpu(why_not),) if why_not else ()
    from engine.device.cuda_driver import DriverError, gpu_count

    try:
        count = gpu_count()
    except DriverError as error:
        return (unusable_gpu(f"The NVIDIA driver cannot be used: {error}."),)
    return tuple(map(_listed_gpu, range(count))) or (unusable_gpu(NO_GPU),)


def _listed_gpu(number: int) -> DeviceInfo:
    from engine.device.cuda_driver import DriverError, gpu_info

    try:
        return gpu_info(number)
    except DriverError as error:
        return unusable_gpu(f"The NVIDIA driver cannot be used: {error}.", f"cuda:{number}")


@cache
def _model() -> str:
    """Return the name of the CPU, read only so far: the system makes the part of each core as it is read."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
