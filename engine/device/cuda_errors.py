"""CUDA's exceptions as ours: after out of memory a device still works, after most others it does not."""

from numba.cuda.cudadrv.error import CudaSupportError

from engine.device.device_list import missing
from engine.device.numba_cuda import cuda, driver
from engine.errors import BadValue, DeviceFault, DeviceUnavailable, OutOfDeviceMemory

try:
    # cuda-core 1.x has no public name for it.
    from cuda.core._utils.cuda_utils import CUDAError
except ImportError:
    CUDAError = None

# cuda.h: after these the context still works; after any other error of a launch it does not.
_INVALID_VALUE, _OUT_OF_MEMORY, _TOO_MANY_RESOURCES = 1, 2, 701


def in_words(error: Exception, doing: str) -> Exception:
    """Return what CUDA raised as ours, by its number; any other error as it is."""
    message = " ".join(str(error).split())
    if isinstance(error, CudaSupportError):
        what = f"CUDA failed while {doing}"
        return DeviceUnavailable(what, message, "Use the CPU, or install the NVIDIA driver.")
    if not isinstance(error, _api_errors()):
        return error
    # Numba's error has CUDA's number; cuda.core's (launches) begins with its name.
    name = str(error).partition(":")[0].strip()
    code = getattr(error, "code", getattr(driver.CUresult, name, None))
    if code == _OUT_OF_MEMORY:
        try:
            free, total = cuda.current_context().get_memory_info()
            why = f"the device has {free:,} of {total:,} bytes free"
        except Exception:  # noqa: BLE001 - a failing device may answer with anything
            why = "the device's memory is full"
        remedy = "Use a smaller picture or batch, or the CPU."
        return OutOfDeviceMemory(f"Not enough device memory while {doing}", why, remedy)
    if code in (_INVALID_VALUE, _TOO_MANY_RESOURCES):
        return BadValue(f"The device refused the launch while {doing}", message, "Choose a smaller block.")
    remedy = "The engine restarts; run again, or choose another kernel."
    return DeviceFault(f"The GPU failed while {doing}", message, remedy)


def _api_errors() -> tuple[type[Exception], ...]:
    # Numba's own, and for launches that of cuda.core.
    if missing:
        return ()
    own: type[Exception] = cuda.cudadrv.driver.CudaAPIError
    return (own,) if CUDAError is None else (own, CUDAError)
