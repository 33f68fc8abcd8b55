"""`fft`: correlation through Fourier transforms by cuFFT, which CuPy brings.

Idea
    A product of spectra instead of rows x columns multiply-adds per result (`engine.variants.fft.transform`),
    for the whole picture at once, in float64.
Who loads what
    CuPy's and cuFFT's kernels, on the picture where it lies and on the stream of the run. The padded picture
    and its spectrum take 16 bytes per cell each.
What it saves
    The cost of a result does not depend on the mask.
Limit
    The error is that of `cpu-fft`. A GPU for games computes float64 at a thirty-second or less of its float32
    rate.

Source: as `cpu-fft`; NVIDIA cuFFT.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

from engine.device.array_libraries import cupy_stream
from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.launches import DeviceArray, DeviceKind
from engine.errors import OutOfDeviceMemory
from engine.geometry.block import Block, Limits, Refusal
from engine.mask.mask import Mask
from engine.variants.fft import transform
from engine.variants.fft.transform import SpectralFilter
from engine.work.filtering.problem import Problem
from engine.work.filtering.sum_order import TRANSFORM
from engine.work.filtering.variants import Growth, Variant
from engine.work.picture_problem import MAX_SIDE


def _sides(problem: Problem) -> tuple[int, int]:
    return transform.transform_sides(problem, MAX_SIDE)


@cache
def _has_cupy() -> bool:
    """Return whether CuPy is installed; looking for it takes 0.1 ms, and `auto` asks for each choice."""
    return importlib.util.find_spec("cupy") is not None


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return that CuPy is missing, or None."""
    if not _has_cupy():
        return Refusal(
            "library-missing",
            "CuPy is not installed",
            "The transform is cuFFT's, by way of CuPy, which is not installed.",
            "Install it with 'pip install cupy-cuda13x' (cupy-cuda12x for a driver of CUDA 12), or use "
            "cpu-fft.",
        )
    return None


@contextmanager
def _cupy_on(stream: object) -> Iterator[ModuleType]:
    """Yield CuPy on Numba's current device and stream (0: the default one), with its errors in words."""
    # Only where there is a transform: CuPy need not be installed.
    import cupy

    from engine.device import cuda_faults, numba_cuda

    handle = int(stream.handle) if hasattr(stream, "handle") else 0
    with cuda_faults.cuda_errors_in_words("transforming the picture"):
        device = numba_cuda.cuda.get_current_device().id
        try:
            with cupy.cuda.Device(device), cupy_stream(handle):
                yield cupy
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise OutOfDeviceMemory(
                "transforming the picture",
                "the padded picture and its spectrum do not fit the device's free memory",
                "Use a smaller picture, or a direct variant such as tiled.",
            ) from error


def _as_cupy(cupy: ModuleType, array: DeviceArray) -> DeviceArray:
    """Return Numba's device array as CuPy's, without waiting for another stream as `cupy.asarray` does."""
    shown = array.__cuda_array_interface__
    nbytes = array.size * array.dtype.itemsize
    memory = cupy.cuda.UnownedMemory(shown["data"][0], nbytes, array)
    return cupy.ndarray(array.shape, array.dtype, cupy.cuda.MemoryPointer(memory, 0))


class TransformedPicture:
    """One problem and mask on the device, the mask transformed."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        self._channels = problem.channels
        # The default stream.
        with CAPTURE_LOCK, _cupy_on(0) as cupy:
            self._filter = SpectralFilter(problem, mask, _sides(problem), cupy, cupy.fft)
            cupy.cuda.get_current_stream().synchronize()

    def launch(self, image: DeviceArray, out: DeviceArray, stream: object = 0) -> None:
        """Enqueue one filtering of a device array, which is finite, into another."""
        with _cupy_on(stream) as cupy:
            (tile,) = self._filter.tiles
            for channel in range(self._channels):
                self._filter.filter(_as_cupy(cupy, image), _as_cupy(cupy, out), tile, channel)


# cuFFT flushes what is below 2^-126 to 0: on an H100 the result of a picture of 1e-42 was 0. From here
# on a flushed number is 2^-26 of the largest sample and less, within what the transform may be off anyway.
_LEAST_SAMPLE = 2.0**-100


def prepare(problem: Problem, mask: Mask, block: Block) -> TransformedPicture:
    """Return the transform of one problem and mask."""
    return TransformedPicture(problem, mask)


VARIANT = Variant(
    key="fft",
    title="Fourier transform (cuFFT)",
    device=DeviceKind.CUDA,
    idea="The spectrum of the picture times that of the mask, through CuPy and cuFFT: the cost does not "
    "depend on the mask.",
    default_block=Block(32, 8),
    work=lambda problem, block: transform.transform_work(problem, _sides(problem)),
    sum_order=lambda problem, mask: TRANSFORM,
    prepare=prepare,
    unsupported=unsupported,
    uses_block=False,
    remark="For large masks; needs CuPy. Error follows the brightest values, so dark areas are less "
    "accurate; pictures with NaN or infinity are refused.",
    integer_output=True,
    band_invariant=False,
    library="cupy",
    finite_only=True,
    least_sample=_LEAST_SAMPLE,
    added_error=lambda problem, mask: transform.added_error(problem, mask, _sides(problem)),
    grows_with=Growth.NOTHING,
)
