"""The small picture that an operation looks for, made ready; plots and marks as pictures. No Numba."""

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.results.answer import Mark
from engine.work.problem import Value

MOST_SIDE = 64
MIDDLE = -1
"""Of a corner: the patch lies in the middle."""


Patch = NDArray[np.float32]
"""The small picture to find, made ready: less its mean, scaled so that its squares add up to 1; (h, w, C)."""
PLOT_WIDTH, PLOT_HEIGHT = 512, 256
_TOP = 6
BACKGROUND, BAR = 24, 230


def corner_of(samples: np.ndarray, parameters: dict[str, Value]) -> tuple[int, int]:
    """Return row and column of the patch that is cut from the picture itself."""
    sides = int(parameters["height"]), int(parameters["width"])
    wanted = int(parameters["top"]), int(parameters["left"])
    row, column = (
        (length - side) // 2 if at == MIDDLE else at
        for length, side, at in zip(samples.shape[:2], sides, wanted, strict=True)
    )
    return row, column


def patch_from(samples: np.ndarray, parameters: dict[str, Value]) -> np.ndarray:
    """Return the patch that the parameters cut from the picture; BadValue where it reaches over the edge."""
    height, width = int(parameters["height"]), int(parameters["width"])
    row, column = corner_of(samples, parameters)
    if row + height > samples.shape[0] or column + width > samples.shape[1]:
        what = f"a patch of {width} × {height} from column {column}, row {row} on"
        why = f"it reaches over the edge of the picture of {samples.shape[1]} × {samples.shape[0]}"
        raise BadValue(what, why, "Move it, or choose a smaller one.")
    return samples[row : row + height, column : column + width]


def ready_patch(cells: np.ndarray, samples: np.ndarray) -> Patch:
    """Return a patch (h, w, C) made ready for a picture; a `BadValue` says why it can be found nowhere."""
    height, width, channels = cells.shape
    if max(height, width) > MOST_SIDE:
        what, why = f"a patch of {width} × {height}", f"each side can have up to {MOST_SIDE} pixels"
        raise BadValue(what, why, "Cut a smaller one out.")
    if channels != samples.shape[2]:
        names = {1: "grey", 3: "RGB"}
        own, needed = (names.get(number, f"{number} channels") for number in (channels, samples.shape[2]))
        raise BadValue(f"a patch that is {own}", f"the picture is {needed}", "Give both the same colours.")
    numbers = cells.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise BadValue("the patch", "it has NaN or infinity, which equal nothing", "Take another patch.")
    if numbers.max() == numbers.min():
        why = f"all its samples are {numbers.flat[0]:g}, and the correlation divides by their spread, 0"
        raise BadValue("the patch", why, "Take a patch with an edge or a texture in it.")
    numbers = numbers / np.abs(numbers).max()
    numbers -= numbers.mean()
    scaled: Patch = (numbers / np.sqrt((numbers * numbers).sum())).astype(np.float32)
    return scaled


def histogram_picture(counts: np.ndarray) -> np.ndarray:
    """Return the bars of a histogram, (channels, bins), as 8-bit RGB; colours add up where bars overlap."""
    picture = np.full((PLOT_HEIGHT, PLOT_WIDTH, 3), BACKGROUND, np.uint8)
    highest = max(1, int(counts.max()))
    bins = np.arange(PLOT_WIDTH) * counts.shape[1] // PLOT_WIDTH
    rows = np.arange(PLOT_HEIGHT)[:, np.newaxis]
    for channel, of_channel in enumerate(counts[:3]):
        bars = np.ceil(of_channel[bins] / highest * (PLOT_HEIGHT - _TOP))
        # One or two channels have white bars.
        colours = [channel] if len(counts) >= 3 else [0, 1, 2]
        for colour in colours:
            picture[..., colour][rows >= PLOT_HEIGHT - bars] = BAR
    return picture


def marked(picture: np.ndarray, mark: Mark, full_scale: float) -> np.ndarray:
    """Return a copy of a picture (H, W, C) with a frame around the mark: white, and black around it."""
    framed = picture.copy()
    thickness = max(1, round(max(picture.shape[:2]) / 400))
    for width, value in ((2 * thickness, 0), (thickness, full_scale)):
        top, left = max(0, mark.row - width), max(0, mark.column - width)
        framed[top : mark.row + mark.height + width, left : mark.column + mark.width + width] = value
    inside = slice(mark.row, mark.row + mark.height), slice(mark.column, mark.column + mark.width)
    framed[inside] = picture[inside]
    return framed
