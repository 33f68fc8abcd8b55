"""A picture in shared memory, with its levels for the screen. Called on: the host's threads.

These have 8 bits, blue-green-red-alpha, and are halved for zooming out. On two cores a 1920 x 1080 colour
picture takes 4 ms.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Self

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.host_memory import ANTI_ALIAS_BYTES, PAGE_BYTES, placed_result
from engine.geometry.block import FLOAT_BYTES
from engine.host import shared
from engine.host.protocol import DisplayScale, PictureHandle, ScreenLevels, TiledScreen
from engine.host.request import ComputedResult, SharedArray
from engine.image.convert import bands, full_scale_of, halved_sides, scale_and_shift_of
from engine.image.format import Scratch
from engine.process import OncePerProcess, cores
from engine.verify.verification import Region

SMALLEST_LEVEL = 64
_NO_ALPHA = np.empty(0, np.float32)
_OPAQUE = np.float32(1)

_CODE = "engine.host.display_code"
_fill_from_grey, _fill_from_colours, _halve, _find_range = (
    MachineFunction(_CODE, name) for name in ("fill_from_grey", "fill_from_colours", "halve", "find_range")
)


def level_shapes(height: int, width: int) -> tuple[tuple[int, int, int], ...]:
    """Return the shapes of all levels: full size, then halves (rounded up) until both sides are small."""
    return tuple((*sides, 4) for sides in halved_sides(height, width, (SMALLEST_LEVEL, SMALLEST_LEVEL)))


@OncePerProcess
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="screen")


def _in_bands(rows: int, action: Callable[[int, int], None]) -> None:
    count = max(1, min(cores() * 2, rows // 64))
    edges = [rows * band // count for band in range(count + 1)]
    # A single band is done on this thread.
    run = map if count == 1 else _threads().map
    for _ in run(action, edges[:-1], edges[1:]):
        pass


def _as_float32(values: np.ndarray, top: int, bottom: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield rows as float32, flat, band by band: a whole 8-bit picture would take four times its memory.

    One compilation serves every type: a second one costs the first start 0.4 s, the copy 3 ms at 1080p.
    """
    for band in bands(bottom - top, FLOAT_BYTES * values[0].size):
        rows = slice(top + band.start, top + band.stop)
        yield rows, np.ascontiguousarray(values[rows], np.float32).reshape(-1)


def value_range(values: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest of the values that are finite."""
    ends = np.array([np.inf, -np.inf])
    for _, part in _as_float32(values, 0, len(values)):
        _find_range(part, ends)
    lowest, highest = ends.tolist()
    return lowest, highest


def scale_and_shift(
    values: np.ndarray, white: float, range_mode: str, ends: tuple[float, float] | None = None
) -> tuple[float, float, bool]:
    """Return (scale, shift, absolute) that map results to 0 .. 255; without `ends` to rescale by its own."""
    fixed = scale_and_shift_of(white, range_mode)
    if fixed is not None:
        return fixed
    lowest, highest = value_range(values) if ends is None else ends
    if not highest > lowest:
        return 0.0, 0.0, False
    scale = 255.0 / (highest - lowest)
    return scale, -lowest * scale, False


def render(
    values: np.ndarray,
    levels: list[np.ndarray],
    white: float,
    range_mode: str = "clip",
    alpha: np.ndarray | None = None,
    ends: tuple[float, float] | None = None,
) -> tuple[float, float, bool]:
    """Fill the levels of a picture, of `level_shapes`, with premultiplied blue, green, red, alpha.

    The first one may be left out. Returns what `scale_and_shift` does.

    Of `values`, H x W x C, 1 channel is shown grey, 3 or more as red, green, blue; `white` is shown as white,
    values outside 0 .. white as `range_mode` says ("clip", "absolute", "offset" or "rescale"). `alpha`,
    H x W, is straight, in the picture's own units. `ends`: see `scale_and_shift`.
    """
    scale, shift, absolute = scale_and_shift(values, white, range_mode, ends)
    numbers = np.float32(scale), np.float32(shift), absolute
    has_colours = values.shape[2] >= 3
    fill_pixels = _fill_from_colours if has_colours else _fill_from_grey
    shown = values[..., : 3 if has_colours else 1]

    def fill_into(pixels: np.ndarray, first: int, top: int, bottom: int) -> None:
        for rows, part in _as_float32(shown, top, bottom):
            opacity = _NO_ALPHA
            if alpha is not None:
                # Alpha of a float file may be any number; fmax and fmin prefer another one to NaN.
                share = (alpha[rows] / np.float32(white)).astype(np.float32).reshape(-1)
                opacity = np.fmin(np.fmax(share, np.float32(0)), _OPAQUE)
            at = slice(rows.start - first, rows.stop - first)
            fill_pixels(part, opacity, *numbers, pixels[at].view(np.uint32).reshape(-1))

    def fill_halves(top: int, bottom: int) -> None:
        height, width = values.shape[:2]
        scratch = np.empty((0, width, 4), np.uint8)
        for band in bands(bottom - top, 8 * width):
            first, last = 2 * (top + band.start), min(2 * (top + band.stop), height)
            # The first band is the highest.
            scratch = scratch if len(scratch) else np.empty((last - first, width, 4), np.uint8)
            pixels = scratch[: last - first]
            fill_into(pixels, first, first, last)
            out = levels[0][top + band.start : top + band.stop]
            _halve(pixels, out, 0, len(out))

    if levels[0].shape[:2] == values.shape[:2]:
        _in_bands(values.shape[0], partial(fill_into, levels[0], 0))
    else:
        _in_bands(len(levels[0]), fill_halves)
    halve_all(levels)
    return scale, shift, absolute


def halve_all(levels: list[np.ndarray]) -> None:
    """Fill each level but the first with halves of the one before."""
    for source, out in itertools.pairwise(levels):
        _in_bands(out.shape[0], partial(_halve, source, out))


# Up to here pixels of full size are kept for the screen, and the values of results: with the result that is
# made beside the one that is shown, more than these 3 megapixels take more than three times the picture and
# 300 MB. Those of larger pictures are made where they are seen.
FULL_SIZE_BYTES = 12 << 20
# The limit of the window is fixed.
MAKE_SMALLER = "Scale it down, or cut out a part of it, in another program, and open that."
# Of a large result, this much becomes levels for the screen at once, and is given back: enough for all cores.
_BAND_BYTES = 32 << 20


class SharedSegment:
    """A segment of shared memory that a job fills; recycled unless it is handed over."""

    def __init__(self) -> None:
        self._name = ""
        self._handed_over = False

    def create(self, *arrays: tuple[tuple[int, ...], str]) -> tuple[SharedArray, ...]:
        """Make the segment, with arrays of these (shape, dtype)."""
        made = shared.create(*arrays)
        self._name = made[0].name
        return made

    def rendered(
        self,
        pixels: SharedArray,
        levels: tuple[SharedArray, ...],
        white: float,
        range_mode: str = "clip",
        alpha: SharedArray | None = None,
        ends: tuple[float, float] | None = None,
    ) -> ScreenLevels:
        """Fill the levels for the screen, and hand the segment over; `ends` are as `render` takes them."""
        targets = [shared.attach(level) for level in levels]
        how = render(shared.attach(pixels), targets, white, range_mode, attached(alpha), ends)
        self._handed_over = True
        if levels[0].shape[:2] == pixels.shape[:2]:
            return ScreenLevels(levels, opaque=alpha is None)
        return ScreenLevels((pixels, *levels), alpha is None, DisplayScale(*how, alpha, white))

    def rendered_in_bands(
        self,
        picture: PictureHandle,
        levels: tuple[SharedArray, ...],
        bands: Iterable[tuple[slice, np.ndarray]],
        range_mode: str,
        ends: tuple[float, float] | None = None,
    ) -> TiledScreen:
        """Fill the levels of a large picture's result, of which no values are kept; hand the segment over.

        Bands of rows begin at even ones. `ends` are as `render` takes them.
        """
        targets, alpha = [shared.attach(level) for level in levels], attached(picture.alpha)
        white = full_scale_of(np.dtype(picture.dtype))
        for rows, values in bands:
            half = targets[0][rows.start // 2 : -(-rows.stop // 2)]
            render(values, [half], white, range_mode, None if alpha is None else alpha[rows], ends)
            # Its memory serves the next band: 16 MB less.
            del values
        halve_all(targets)
        self._handed_over = True
        sizes = tuple(shape[:2] for shape in level_shapes(picture.height, picture.width))
        return TiledScreen("", sizes, opaque=alpha is None, coarse=levels)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._name and (error is not None or not self._handed_over):
            shared.recycle(self._name)


class ResultMemory(SharedSegment):
    """Where a kernel writes a result, and the levels for the screen that are made of it.

    With `keeps` the values stay, in shared memory, which is written without a copy. Else they are given back
    while the levels grow.
    """

    def __init__(self, picture: PictureHandle, *, keeps: bool) -> None:
        super().__init__()
        self._picture, self._keeps = picture, keeps

    def allocate(self, samples: np.ndarray, dtype: str) -> np.ndarray:
        """Return the memory for the result of samples of a shape (H, W, C)."""
        shape = samples.shape
        if not self._keeps:
            # What was kept for the next preview would come on top of the whole result.
            shared.trim_unused()
            self._levels = self.create(*screen_arrays(*shape[:2], is_large=True))
            size = math.prod(shape) * np.dtype(dtype).itemsize + PAGE_BYTES
            self._scratch = Scratch((size,), np.uint8, huge_pages=True)
            self.array: np.ndarray = placed_result(self._scratch.array, samples, shape, dtype)
            return self.array
        # Segments begin with a page, the picture's too (`engine.device.host_memory`).
        _, self._values, *levels = self.create(
            ((ANTI_ALIAS_BYTES,), "uint8"), (shape, dtype), *screen_arrays(*shape[:2], is_large=False)
        )
        self._levels, self.array = tuple(levels), shared.attach(self._values)
        return self.array

    def shown(
        self, range_mode: str, computed: ComputedResult
    ) -> tuple[SharedArray | ComputedResult, ScreenLevels | TiledScreen]:
        """Return the values, which are `computed` where they are not kept, and the levels for the screen."""
        picture = self._picture
        if self._keeps:
            white = full_scale_of(np.dtype(picture.dtype))
            return self._values, self.rendered(self._values, self._levels, white, range_mode, picture.alpha)
        values, ends = self.array, value_range(self.array) if range_mode == "rescale" else None

        def released_bands() -> Iterator[tuple[slice, np.ndarray]]:
            step = max(2, _BAND_BYTES // values[0].nbytes // 2 * 2)
            for top in range(0, len(values), step):
                rows = slice(top, min(top + step, len(values)))
                yield rows, values[rows]
                # To the system, while the levels for the screen grow.
                self._scratch.give_back(values[rows])

        return computed, self.rendered_in_bands(picture, self._levels, released_bands(), range_mode, ends)


def in_shared_memory(
    pixels: np.ndarray, alpha: np.ndarray | None
) -> tuple[SharedArray, SharedArray | None, ScreenLevels]:
    """Return copies of a picture, H x W x C, and of its opacity, with its levels for the screen."""
    plane, dtype = pixels.shape[:2], pixels.dtype.name
    opacity = [] if alpha is None else [(plane, dtype)]
    with SharedSegment() as segment:
        first, *levels = segment.create((pixels.shape, dtype), *opacity, *screen_arrays(*plane))
        shared.attach(first)[...] = pixels
        second = None if alpha is None else levels.pop(0)
        if second is not None:
            shared.attach(second)[...] = alpha
        screen = segment.rendered(first, tuple(levels), full_scale_of(pixels.dtype), alpha=second)
        return first, second, screen


def screen_arrays(
    height: int, width: int, *, is_large: bool | None = None
) -> list[tuple[tuple[int, ...], str]]:
    """Return shapes and type of a picture's levels for the screen; of a large one without full size.

    `is_large` is known of a picture that was opened: levels of another size would be written past their ends.
    """
    shapes = level_shapes(height, width)
    if is_large is None:
        is_large = math.prod(shapes[0]) > FULL_SIZE_BYTES
    return [(shape, "uint8") for shape in shapes[is_large:]]


def keeps_values(picture: PictureHandle) -> bool:
    """Return whether the values of results are kept; of a large picture they would take too much memory."""
    return not (isinstance(picture.screen, ScreenLevels) and picture.screen.shown is not None)


def attached(array: SharedArray | None) -> np.ndarray | None:
    """Return a view of an array of shared memory, if there is one."""
    return None if array is None else shared.attach(array)


def all_nan_words(pixels: np.ndarray) -> str:
    """Return what the description of a picture ends with where it shows nothing: all of it is NaN."""
    is_nan = pixels.dtype.kind == "f" and np.isnan(pixels.flat[0]) and np.isnan(pixels).all()
    return ", all values are NaN" if is_nan else ""


_PIXELS = 1 << 18  # pixels that are read at once: 3 MB of RGB in float32


def part_of(values: SharedArray | ComputedResult, region: Region) -> np.ndarray:
    """Return the values of a region, H x W x C; those in shared memory without a copy."""
    if isinstance(values, SharedArray):
        return shared.attach(values)[region.slices]
    part: np.ndarray = import_module(values.job.tile_answers).part_of_result(values.job, region)
    return part


def bands_of(values: SharedArray | ComputedResult, region: Region) -> Iterator[tuple[Region, np.ndarray]]:
    """Yield a region in bands, each with its values."""
    for band in region.bands(_PIXELS):
        yield band, part_of(values, band)
