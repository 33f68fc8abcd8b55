"""`cpu-fft` and `fft`: correlation by Fourier transforms, of tiles by NumPy, of the whole picture by cuFFT.

The correlation of a picture with a mask is the product of their spectra (the mask's conjugated), transformed
back. Ghost cells are put around the picture by the border's index rule first, so that the transform's own
border, which wraps, reaches no result. The cost does not depend on the mask; NaN and infinity would reach
every result of a tile.

Error
    Everything is float64. A transform of N values has a stage for each factor of N: a unitary matrix,
    computed with a relative error of at most 16 u log2(factor), u = 2^-53, in the 2-norm (Higham, section
    24.1, counted for factors up to 11; lengths are of 2, 3 and 5 here), so the transform's error is e =
    16 u log2 N. The spectrum of the mask is at most the sum of its magnitudes, |m|. Three transforms make,
    with p the picture's cells in a tile of N,

        |result - exact| <= 3 e |m| ||p|| <= 3 e |m| sqrt(N) largest,   for 576 x 576: 5.6e-11 |m| largest

    Unlike the bound of a direct sum this does not shrink where the picture is dark: there it is what counts.
Integers
    Results of integer samples are multiples of one power of two, the step. Where the error is less than half
    of it, the nearest multiple is the exact result, and only its rounding to float32 is left: such results
    hold the bound of every other variant, and in the exact class they are equal bit for bit. `added_error` is
    0 then.

Source: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., theorems 24.2 and 24.3.
"""

import importlib.util
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.device.backend import cuda_errors_in_words
from engine.device.device_arrays import cupy_stream
from engine.device.kernel_names import cuda
from engine.device.launches import CAPTURE_LOCK, DeviceArray, DeviceKind
from engine.errors import OutOfDeviceMemory
from engine.geometry.block import Block, Limits, Refusal
from engine.mask.factors import step_of
from engine.mask.mask import Mask
from engine.process import OncePerProcess, cores
from engine.results.problem import Work
from engine.run.variant import ON_CPU
from engine.work.filtering.sum_order import TRANSFORM
from engine.work.filtering.variants import Growth, Variant, filter_work
from engine.work.problem import MAX_SIDE, Problem

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_ERROR_OF_A_STAGE = 16 * 2.0**-53
Tile = tuple[int, int, int, int]
"""Results of rows from the first number to before the second, and of columns from the third on."""


def transform_sides(problem: Problem, most_results: int) -> tuple[int, int]:
    """Return the sides of a transform, for tiles of at most so many results along each side."""

    def side(length: int, cells: int) -> int:
        return fast_length(min(length, most_results) + cells - 1)

    return side(problem.height, problem.mask_shape[0]), side(problem.width, problem.mask_shape[1])


def fast_length(length: int) -> int:
    """Return the smallest product of twos, threes and fives that is no less: pocketfft is fast for these."""
    # Some power of two is less than twice the length; so is each of the factors below.
    best = 1 << (length - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            # Ceiling of length / three, then the power of two that is no less.
            best = min(best, three << (-(-length // three) - 1).bit_length())
            three *= 3
        five *= 5
    return best


def tiles(problem: Problem, sides: tuple[int, int]) -> tuple[Tile, ...]:
    """Return the tiles that cover the picture, as large as the transforms allow."""
    high, wide = (side - cells + 1 for side, cells in zip(sides, problem.mask_shape, strict=True))
    return tuple(
        (top, min(top + high, problem.height), left, min(left + wide, problem.width))
        for top in range(0, problem.height, high)
        for left in range(0, problem.width, wide)
    )


def transform_error(mask: Mask, sides: tuple[int, int]) -> float:
    """Return the largest error of a result, relative to the largest sample or ghost value."""
    cells = math.prod(sides)
    magnitude = float(np.abs(mask.weights32.astype(np.float64)).sum())
    return 3 * _ERROR_OF_A_STAGE * math.log2(cells) * math.sqrt(cells) * magnitude


def step_of_results(problem: Problem, mask: Mask, sides: tuple[int, int]) -> float:
    """Return the power of two whose multiples all exact results are, if the nearest is sure; else 0."""
    if problem.dtype == "float32":
        return 0.0
    ghost = np.array([problem.ghost_value], np.float32)
    step = step_of(mask.weights32) * min(1.0, step_of(ghost))
    largest = max(float(np.iinfo(problem.dtype).max), abs(float(ghost[0])))
    return step if math.isfinite(step) and transform_error(mask, sides) * largest < step / 2 else 0.0


def added_error(problem: Problem, mask: Mask, sides: tuple[int, int]) -> float:
    """Return `Variant.added_error`: the transforms' error, or 0 where the nearest multiple is sure."""
    return 0.0 if step_of_results(problem, mask, sides) else transform_error(mask, sides)


def transform_work(problem: Problem, sides: tuple[int, int]) -> Work:
    """Return the work: the cells of all tiles, and for each the usual count of a transform's operations.

    These are 2.5 N log2 N for each of the two real transforms, and 3 N for the product.
    """
    rows, columns = problem.mask_shape
    covering = tiles(problem, sides)
    cells = sum(
        (bottom - top + rows - 1) * (right - left + columns - 1) for top, bottom, left, right in covering
    )
    size = math.prod(sides)
    flops = len(covering) * problem.channels * round(5 * size * math.log2(max(size, 2)) + 3 * size)
    return filter_work(problem, picture_loads=cells * problem.channels, multiply_adds=flops // 2)


class SpectralFilter:
    """One problem and mask, ready to filter tile by tile, with transforms of these sides.

    `arrays` and `transforms` are `numpy` and `numpy.fft`, or on the device `cupy` and `cupy.fft`.
    """

    def __init__(
        self, problem: Problem, mask: Mask, sides: tuple[int, int], arrays: ModuleType, transforms: ModuleType
    ) -> None:
        self._arrays, self._transforms, self._sides = arrays, transforms, sides
        self._mask_shape = mask.shape
        self._ghost = float(np.float32(problem.ghost_value))
        self._offset = float(np.float32(mask.offset))
        self._step = step_of_results(problem, mask, sides)
        self._largest = np.iinfo(problem.result_dtype).max if problem.is_quantised else 0
        self.tiles = tiles(problem, sides)
        self._rows = arrays.asarray(sources(problem, 0))
        self._columns = arrays.asarray(sources(problem, 1))
        weights = arrays.asarray(mask.weights32.astype(np.float64))
        self._spectrum = arrays.conj(transforms.rfft2(weights, sides))

    def filter(self, image: np.ndarray, out: np.ndarray, tile: Tile, channel: int) -> None:
        """Compute the results of one tile of one channel (interleaved samples would take twice as long).

        `image`, which is finite, and `out` are arrays of the arrays' own kind, of shape (H, W or more, C).
        """
        arrays, transforms = self._arrays, self._transforms
        (top, bottom, left, right), (mask_rows, mask_columns) = tile, self._mask_shape
        rows = self._rows[top : bottom + mask_rows - 1]
        columns = self._columns[left : right + mask_columns - 1]
        cells = arrays.take(image[:, :, channel], arrays.maximum(rows, 0), 0)
        cells = arrays.take(cells, arrays.maximum(columns, 0), 1).astype(np.float64)
        is_ghost = (rows < 0)[:, None] | (columns < 0)[None, :]
        spectrum = transforms.rfft2(arrays.where(is_ghost, self._ghost, cells), self._sides)
        spectrum *= self._spectrum
        results = transforms.irfft2(spectrum, self._sides)[: bottom - top, : right - left]
        if self._step:
            results = arrays.rint(results / self._step) * self._step
        # Past the largest float32 a result is infinite, as everywhere.
        with np.errstate(over="ignore"):
            results = (results + self._offset).astype(np.float32)
        if self._largest:
            results = arrays.rint(arrays.clip(results, 0, self._largest))
        out[top:bottom, left:right, channel] = results


def sources(problem: Problem, axis: int) -> NDArray[np.int64]:
    """Return the source of each row (axis 0) or column (axis 1) in and around the picture; -1 for ghosts."""
    length = (problem.height, problem.width)[axis]
    before, cells = problem.anchor[axis], problem.mask_shape[axis]
    rule = problem.border.rule
    return np.array([rule(index - before, length) for index in range(length + cells - 1)], np.int64)


# An error of 5e-11 of such a sample is that of a rounding to float32 of the others, 6e-8.
FAR_ABOVE = 1024.0
MOST = 256
# The largest sample in root mean squares from which it is looked at more closely: 256 samples of 65,536 equal
# ones have 16. The median of all takes as long as a third of the transform.
_SUSPICIOUS = 16.0


def outliers(samples: np.ndarray) -> NDArray[np.intp]:
    """Return row, column and channel of each sample that is far above the others, (n, 3); none of too many.

    The error of a transform is a part of the largest value that it mixes: for 1e20 among values of 25 it
    would be 1e9 everywhere. So `cpu-fft` does not transform such samples, but adds them to the results.
    """
    none = np.empty((0, 3), np.intp)
    if samples.dtype.kind != "f":
        return none
    largest, flat = float(max(samples.max(), -samples.min())), samples.reshape(-1)
    with np.errstate(over="ignore"):
        squares = float(np.dot(flat, flat))
    if squares < np.inf and largest * largest * flat.size <= _SUSPICIOUS**2 * squares:
        return none
    sizes = np.abs(samples)
    others = sizes[sizes > 0]
    places = np.argwhere(sizes > FAR_ABOVE * np.median(others)) if others.size else none
    return places if len(places) <= MOST else none


def largest_mixed(samples: np.ndarray) -> float:
    """Return the largest magnitude among the samples that are transformed."""
    places = outliers(samples)
    sizes = np.abs(samples.astype(np.float64))
    sizes[tuple(places.T)] = 0.0
    return float(sizes.max(initial=0.0))


OF_TILES = """
`cpu-fft`: correlation through Fourier transforms by NumPy, in tiles, on all cores.

Idea
    A product of spectra instead of rows x columns multiply-adds per result
    (`engine.variants.fast.fft`).
Who loads what
    A task transforms a tile of 512 x 512 results of one channel with its halo, as float64, there and back.
What it saves
    The cost of a result does not depend on the mask: about that of a direct mask of 19 x 19.
Limit
    Its error is relative to the largest sample, not to those under the mask, except where results are
    integers. A few samples far above all others are not transformed but added to the results
    (`engine.variants.fast.fft`). Pictures with NaN or infinity, which a transform would spread, are
    refused.

Source: R. C. Gonzalez and R. E. Woods, "Digital Image Processing", 4th ed., section 4.6; NumPy's pocketfft.
"""
# 2048 x 2048, 63 x 63, 2 cores: 30 ms; 37 with tiles of 194, 42 with 1024, 66 with one transform of all that
# uses both cores.
TILE_RESULTS = 512


@OncePerProcess
def _threads() -> "ThreadPoolExecutor":
    # 4 ms, only where there is a transform.
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
        self._add(out, image, places)

    def _add(self, out: np.ndarray, image: np.ndarray, places: NDArray[np.intp]) -> None:
        """Add to results what some samples of a picture make of them."""
        (rows, columns), weights = self._sources, self._weights
        (high, wide), (height, width) = weights.shape, out.shape[:2]
        for row, column, channel in places:
            value = float(image[row, column, channel])
            for i in np.flatnonzero(rows == row):
                for j in np.flatnonzero(columns == column):
                    # The results whose windows have the cell (i, j).
                    top, left = max(0, i - high + 1), max(0, j - wide + 1)
                    bottom, right = min(i, height - 1), min(j, width - 1)
                    part = out[top : bottom + 1, left : right + 1, channel]
                    own = weights[i - bottom : i - top + 1, j - right : j - left + 1][::-1, ::-1]
                    with np.errstate(over="ignore"):
                        part[...] = (part + value * own).astype(np.float32)

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
    (`engine.variants.fast.fft`), for the whole picture at once, in float64.
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
        remedy = f"Install it with {packages}, or use cpu-fft."
        return Refusal("library-missing", "CuPy is not installed", why, remedy)
    return None


@contextmanager
def _cupy_on(stream: object) -> Iterator[ModuleType]:
    """Yield CuPy on Numba's current device and stream (0: the default one), with its errors in words."""
    # Only where there is a transform: CuPy need not be installed.
    import cupy

    handle = int(stream.handle) if hasattr(stream, "handle") else 0
    with cuda_errors_in_words("transforming the picture"):
        device = cuda.get_current_device().id
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
    # cuFFT flushes what is below 2^-126 to 0: on an H100 the result of a picture of 1e-42 was 0. From here on
    # a flushed number is 2^-26 of the largest sample and less, within what the transform may be off anyway.
    least_sample=2.0**-100,
    added_error=lambda problem, mask: added_error(problem, mask, transform_sides(problem, MAX_SIDE)),
    grows_with=Growth.NOTHING,
)
