"""CUDA's exceptions as ours: after out of memory the device still works, after most others it does not.

No Numba before CUDA is used: streams on the CPU import this too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from engine.device.device_list import missing
from engine.errors import BadValue, DeviceFault, DeviceUnavailable, OutOfDeviceMemory

# cuda.h: after these the context still works; after any other error of a launch it does not.
_INVALID_VALUE, _OUT_OF_MEMORY, _TOO_MANY_RESOURCES = 1, 2, 701


@contextmanager
def cuda_errors_in_words(doing: str) -> Iterator[None]:
    """Translate what CUDA raises inside; `doing` is part of the message: "allocating 512 MB".

    OutOfDeviceMemory, and BadValue for a launch that is refused: the device still works. DeviceFault: the
    process cannot use CUDA any longer. DeviceUnavailable: no driver, or no device that answers.
    """
    try:
        yield
    except Exception as error:
        raise translated(error, doing) from error


def translated(error: Exception, doing: str) -> Exception:
    """Return what CUDA raised as ours, as `cuda_errors_in_words` raises it; any other error as it is."""
    from numba.cuda.cudadrv.error import CudaSupportError

    said = " ".join(str(error).split())
    if isinstance(error, CudaSupportError):
        what = f"CUDA failed while {doing}"
        return DeviceUnavailable(what, said, "Use the CPU, or install the NVIDIA driver.")
    if not isinstance(error, _api_errors()):
        return error
    from engine.device.numba_cuda import cuda, driver

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
        return BadValue(f"The device refused the launch while {doing}", said, "Choose a smaller block.")
    remedy = "The engine restarts; run again, or choose another kernel."
    return DeviceFault(f"The GPU failed while {doing}", said, remedy)


@cache
def _api_errors() -> tuple[type[Exception], ...]:
    """Return the classes of the driver's failures: Numba's own, and for launches that of cuda.core."""
    if missing:
        return ()
    from numba.cuda.cudadrv.driver import CudaAPIError

    try:
        # cuda-core 1.x has no public name for it.
        from cuda.core._utils.cuda_utils import CUDAError
    except ImportError:
        return (CudaAPIError,)
    return (CudaAPIError, CUDAError)
