"""CUDA's exceptions in our words: out of memory leaves the device well, most others lose the process for CUDA."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from engine.device.numba_cuda import SIMULATED, cuda, missing
from engine.errors import BadValue, DeviceFault, DeviceUnavailable, EngineError, OutOfDeviceMemory

# cuda.h: after these the context still works; after any other error of a launch it does not.
_INVALID_VALUE, _OUT_OF_MEMORY, _TOO_MANY_RESOURCES = 1, 2, 701


def _free_text() -> str:
    try:
        free, total = cuda.current_context().get_memory_info()
    except Exception:  # noqa: BLE001 - a device in distress may answer with anything; the text does without
        return "the device's memory is full"
    return f"the device has {free:,} of {total:,} bytes free"


@contextmanager
def cuda_errors_in_words(doing: str) -> Iterator[None]:
    """Translate what CUDA raises inside.

    Parameters
    ----------
    doing : str
        What is being done, for the message: "allocating 512 MB".

    Raises
    ------
    OutOfDeviceMemory
        The device is well.
    BadValue
        A launch that the device refuses; the device is well.
    DeviceFault
        The process is lost for CUDA.
    DeviceUnavailable
        No driver, or no device that answers.
    """
    from numba.cuda.cudadrv.error import CudaSupportError

    try:
        yield
    except CudaSupportError as error:
        raise DeviceUnavailable(
            f"CUDA failed while {doing}", _one_line(error), "Use the CPU, or install the NVIDIA driver."
        ) from error
    except _api_errors() as error:
        raise _in_words(error, doing) from error


@cache
def _api_errors() -> tuple[type[Exception], ...]:
    """Return what the driver's failures are raised as: Numba's own class, and for launches that of cuda.core."""
    if SIMULATED or missing:
        return ()
    from numba.cuda.cudadrv.driver import CudaAPIError

    try:
        # cuda-core 1.x has no public name for it.
        from cuda.core._utils.cuda_utils import CUDAError
    except ImportError:
        return (CudaAPIError,)
    return (CudaAPIError, CUDAError)


def _in_words(error: Exception, doing: str) -> EngineError:
    code = _code_of(error)
    if code == _OUT_OF_MEMORY:
        return OutOfDeviceMemory(
            f"Not enough device memory while {doing}", _free_text(), "Use a smaller picture, or the CPU."
        )
    if code in (_INVALID_VALUE, _TOO_MANY_RESOURCES):
        return BadValue(
            f"The device refused the launch while {doing}", _one_line(error), "Choose a smaller block."
        )
    return DeviceFault(
        f"The GPU failed while {doing}",
        _one_line(error),
        "The engine starts anew; run again, or choose another kernel.",
    )


def _code_of(error: Exception) -> int | None:
    """Return CUDA's number for an error: Numba's has it, that of cuda.core (launches) begins with its name."""
    from cuda.bindings import driver

    if hasattr(error, "code"):
        return int(error.code)
    name = str(error).partition(":")[0].strip()
    found = getattr(driver.CUresult, name, None)
    return None if found is None else int(found)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
