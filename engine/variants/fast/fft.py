"""`fft` and `cpu-fft`: convolution by transforms, of the whole picture by cuFFT, of tiles by NumPy."""

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from engine.device.device_arrays import cupy_stream
from engine.device.launches import CAPTURE_LOCK, DeviceArray, DeviceKind
from engine.errors import OutOfDeviceMemory
from engine.geometry.block import Block, Limits, Refusal
from engine.mask.mask import Mask
from engine.process import OncePerProcess, cores
from engine.run.variant import ON_CPU
from engine.variants.fast.transform import (
    SpectralFilter,
    add_outliers,
    added_error,
    largest_mixed,
    outliers,
    sources,
    transform_sides,
    transform_work,
)
from engine.work.filtering.sum_order import TRANSFORM
from engine.work.filtering.variants import Growth, Variant
from engine.work.problem import MAX_SIDE, Problem

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

OF_TILES = """
`cpu-fft`: correlation through Fourier transforms by NumPy, in tiles, on all cores.

Idea
    A product of spectra instead of rows x columns multiply-adds per result
    (`engine.variants.fast.transform`).
Who loads what
    A task transforms a tile of 512 x 512 results of one channel with its halo, as float64, there and back.
What it saves
    The cost of a result does not depend on the mask: about that of a direct mask of 19 x 19.
Limit
    Its error is relative to the largest sample, not to those under the mask, except where results are
    integers. A few samples far above all others are not transformed but added to the results
    (`engine.variants.fast.transform`). Pictures with NaN or infinity, which a transform would spread, are
    refused.

Source: R. C. Gonzalez and R. E. Woods, "Digital Image Processing", 4th ed., section 4.6; NumPy's pocketfft.
"""
# 2048 x 2048, 63 x 63, 2 cores: 30 ms; 37 with tiles of 194, 42 with 1024, 66 with one transform of all that
# uses both cores.
TILE_RESULTS = 512


@OncePerProcess
def _threads() -> "ThreadPoolExecutor":
    # 5 ms: only where there is a transform.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="cpu-fft")


class TransformedTiles:
    """The tiles, ready for one problem and mask."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        self._filter = SpectralFilter(problem, mask, transform_sides(problem, TILE_RESULTS), np, np.fft)
        self._parts = [(tile, channel) for tile in self._filter.tiles for channel in range(problem.channels)]
        self._sources = sources(problem, 0), sources(problem, 1)
        self._weights = mask.weights32.astype(np.float64)

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image`, which is finite, into `out` on all cores; returns when it is done."""
        places = outliers(image)
        if not len(places):
            self._transform(image, out)
            return
        others = image.copy()
        others[tuple(places.T)] = 0.0
        self._transform(others, out)
        add_outliers(out, image, places, *self._sources, self._weights)

    def _transform(self, image: np.ndarray, out: np.ndarray) -> None:
        if len(self._parts) == 1:
            self._filter.filter(image, out, *self._parts[0])
            return

        is_stopped = threading.Event()
        under_way = [threading.Lock() for _ in self._parts]

        def filter_part(number: int) -> None:
            with under_way[number]:
                if not is_stopped.is_set():
                    self._filter.filter(image, out, *self._parts[number])

        try:
            for _ in _threads().map(filter_part, range(len(self._parts))):
                pass
        except BaseException:
            # Ctrl+C too is raised when nothing writes to the result any more.
            is_stopped.set()
            for lock in under_way:
                await_lock(lock)
                lock.release()
            raise


def await_lock(lock: threading.Lock) -> None:
    """Wait for a lock through any number of interruptions; the first one is raised afterwards."""
    while True:
        try:
            lock.acquire()
        except BaseException:  # noqa: BLE001 - see above
            continue
        return


CPU_FFT = Variant(
    **ON_CPU,
    key="cpu-fft",
    title="CPU, Fourier transform",
    idea="The spectrum of the picture times that of the mask, tile by tile through NumPy: the cost does not "
    "depend on the mask.",
    work=lambda problem, block: transform_work(problem, transform_sides(problem, TILE_RESULTS)),
    sum_order=lambda problem, mask: TRANSFORM,
    prepare=lambda problem, mask, block: TransformedTiles(problem, mask),
    remark="For large masks. Error follows the brightest values, so dark areas are less accurate; pictures "
    "with NaN or infinity are refused.",
    integer_output=True,
    band_invariant=False,
    library="numpy",
    finite_only=True,
    added_error=lambda problem, mask: added_error(problem, mask, transform_sides(problem, TILE_RESULTS)),
    largest_mixed=largest_mixed,
    grows_with=Growth.NOTHING,
)


OF_ALL = """
`fft`: correlation through Fourier transforms by cuFFT, which CuPy brings.

Idea
    A product of spectra instead of rows x columns multiply-adds per result
    (`engine.variants.fast.transform`), for the whole picture at once, in float64.
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


@cache
def _has_cupy() -> bool:
    """Return whether CuPy is installed; looking for it takes 0.1 ms, and `auto` asks for each choice."""
    return importlib.util.find_spec("cupy") is not None


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return that CuPy is missing, or None."""
    if not _has_cupy():
        why = "The transform is cuFFT's, by way of CuPy, which is not installed."
        packages = "'pip install cupy-cuda13x' (cupy-cuda12x for a driver of CUDA 12)"
        return Refusal(
            "library-missing", "CuPy is not installed", why, f"Install it with {packages}, or use cpu-fft."
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
            self._filter = SpectralFilter(problem, mask, transform_sides(problem, MAX_SIDE), cupy, cupy.fft)
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


FFT = Variant(
    key="fft",
    title="Fourier transform (cuFFT)",
    device=DeviceKind.CUDA,
    idea="The spectrum of the picture times that of the mask, through CuPy and cuFFT: the cost does not "
    "depend on the mask.",
    default_block=Block(32, 8),
    work=lambda problem, block: transform_work(problem, transform_sides(problem, MAX_SIDE)),
    sum_order=lambda problem, mask: TRANSFORM,
    prepare=lambda problem, mask, block: TransformedPicture(problem, mask),
    unsupported=unsupported,
    uses_block=False,
    remark="For large masks; needs CuPy. Error follows the brightest values, so dark areas are less "
    "accurate; pictures with NaN or infinity are refused.",
    integer_output=True,
    band_invariant=False,
    library="cupy",
    finite_only=True,
    least_sample=_LEAST_SAMPLE,
    added_error=lambda problem, mask: added_error(problem, mask, transform_sides(problem, MAX_SIDE)),
    grows_with=Growth.NOTHING,
)
