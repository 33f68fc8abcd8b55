"""A picture in shared memory, with its levels for the screen. Called on: the host's threads."""

import math
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Self

import numpy as np

from engine.device.host_memory import ANTI_ALIAS_BYTES, PAGE_BYTES, placed_result
from engine.host import shared
from engine.host.display_levels import halve_all, level_shapes, render, value_range
from engine.host.protocol import PictureHandle, ScreenLevels, Shown
from engine.host.request import Computed, SharedArray
from engine.host.tiles import TiledScreen
from engine.image.convert import full_scale_of
from engine.image.form import Scratch
from engine.verify.regions import Region

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
        return ScreenLevels((pixels, *levels), alpha is None, Shown(*how, alpha, white))

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
            shared.trim_spares()
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
        self, range_mode: str, computed: Computed
    ) -> tuple[SharedArray | Computed, ScreenLevels | TiledScreen]:
        """Return the values, which are `computed` where they are not kept, and the levels for the screen."""
        picture = self._picture
        if self._keeps:
            white = full_scale_of(np.dtype(picture.dtype))
            return self._values, self.rendered(self._values, self._levels, white, range_mode, picture.alpha)
        ends = value_range(self.array) if range_mode == "rescale" else None
        return computed, self.rendered_in_bands(picture, self._levels, self._given_back(), range_mode, ends)

    def _given_back(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the result in bands, each of which is given back to the system when the next one is wanted.

        The levels for the screen grow in the meantime.
        """
        values = self.array
        step = max(2, _BAND_BYTES // values[0].nbytes // 2 * 2)
        for top in range(0, len(values), step):
            rows = slice(top, min(top + step, len(values)))
            yield rows, values[rows]
            self._scratch.give_back(values[rows])


def in_shared_memory(
    pixels: np.ndarray, alpha: np.ndarray | None
) -> tuple[SharedArray, SharedArray | None, ScreenLevels]:
    """Return copies of a picture, H x W x C, and of its opacity, with its levels for the screen."""
    plane, dtype = pixels.shape[:2], pixels.dtype.name
    opacity = [] if alpha is None else [(plane, dtype)]
    with SharedSegment() as segment:
        first, *levels = segment.create((pixels.shape, dtype), *opacity, *screen_arrays(*plane))
        shared.attach(first)[...] = pixels
        second = None
        if alpha is not None:
            second = levels.pop(0)
            shared.attach(second)[...] = alpha
        return (
            first,
            second,
            segment.rendered(first, tuple(levels), full_scale_of(pixels.dtype), alpha=second),
        )


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


# Pixels that are read at once: 3 MB of RGB in float32.
_PIXELS = 1 << 18


def part_of(values: SharedArray | Computed, region: Region) -> np.ndarray:
    """Return the values of a region, H x W x C; those in shared memory without a copy."""
    if isinstance(values, SharedArray):
        return shared.attach(values)[region.slices]
    part: np.ndarray = import_module(values.job.tile_answers).part_of_result(values.job, region)
    return part


def bands_of(values: SharedArray | Computed, region: Region) -> Iterator[tuple[Region, np.ndarray]]:
    """Yield a region in bands, each with its values."""
    for band in region.bands(_PIXELS):
        yield band, part_of(values, band)
