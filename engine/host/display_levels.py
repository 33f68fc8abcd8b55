"""Pictures made ready for the screen: 8 bits, blue-green-red-alpha, with halved levels for zooming out.

On two cores a 1920 x 1080 colour picture takes 4 ms.
"""

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.cores import cores
from engine.device.per_thread import OncePerProcess
from engine.geometry.layout import FLOAT_BYTES
from engine.host.display_range import scale_and_shift_of
from engine.image.convert import halved_sides
from engine.image.form import bands

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
    """Return (scale, shift, absolute) that map results to 0 .. 255, as `engine.image.convert` does.

    `ends` is the range to rescale from; None: that of the values.
    """
    found = scale_and_shift_of(white, range_mode)
    if found is not None:
        return found
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
    shown, fill_pixels = (
        (values[..., :3], _fill_from_colours) if has_colours else (values[..., :1], _fill_from_grey)
    )

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
        scratch: np.ndarray | None = None
        for band in bands(bottom - top, 8 * width):
            first, last = 2 * (top + band.start), min(2 * (top + band.stop), height)
            if scratch is None:
                scratch = np.empty((last - first, width, 4), np.uint8)
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
