"""Which devices there are, which can be used, and why another cannot."""

from importlib import import_module

from engine.device.backend import Backend, CpuBackend
from engine.device.device_list import cpu_info, driver_unusable, listed_devices, unusable_gpu
from engine.device_info import ALL_GPUS, SIMULATOR, DeviceInfo
from engine.errors import DeviceUnavailable
from engine.process import OncePerProcess


@OncePerProcess
def devices() -> tuple[DeviceInfo, ...]:
    """Return every listed device; each GPU was asked for a context, and says where it gives none."""
    return tuple(_used(device) if device.is_usable_gpu else device for device in listed_devices())


def _used(gpu: DeviceInfo) -> DeviceInfo:
    from engine.device.cuda import start_gpu

    try:
        start_gpu(gpu)
    except Exception as error:  # noqa: BLE001 - the CPU must work with any broken driver
        return unusable_gpu(driver_unusable(" ".join(str(error).split()).strip(" :.")), gpu.key)
    return gpu


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
    if key == ALL_GPUS and any(device.is_usable_gpu for device in known):
        remedy = f"Choose one of {', '.join(device.key for device in known if device.available)}."
        why = "only `filter` and `batch`, and engine.filter_stream, use several GPUs at once"
        raise DeviceUnavailable(f"device '{key}'", why, remedy)
    wanted = "cuda:0" if key in ("cuda", ALL_GPUS) else key
    for device in known:
        if device.key == wanted:
            if not device.available:
                remedy = "Use the CPU (device cpu or auto), or install the driver of an NVIDIA GPU."
                raise DeviceUnavailable(f"device '{key}'", str(device.reason), remedy)
            return device
    remedy = f"Choose one of {', '.join(['auto', *(device.key for device in known if device.available)])}."
    raise DeviceUnavailable(f"device '{key}'", "there is no such device here", remedy)


def all_gpus() -> tuple[DeviceInfo, ...]:
    """Return every GPU that can be used (`cuda:all`); raises DeviceUnavailable where there is none."""
    return tuple(device for device in devices() if device.is_usable_gpu) or (device_named(ALL_GPUS),)


@OncePerProcess
def backend(key: str) -> Backend:
    """Return the backend of a device of this process, made once; raises DeviceUnavailable."""
    device = device_named(key)
    if device.key == "cpu":
        return CpuBackend()
    if device.key == SIMULATOR:
        # Nothing else needs it.
        simulator: Backend = import_module("engine.device.interpreter").InterpreterBackend()
        return simulator
    # Numba's CUDA target: only where a GPU is used.
    from engine.device.cuda import CudaBackend

    return CudaBackend(device)
