"""What masks do, as small pictures for the library of masks: each applied to the middle of a picture.

Called on: the main thread of the host process.
"""

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import Border
from engine.host import shared
from engine.host.display_levels import full_scale
from engine.host.protocol import PictureHandle
from engine.host.request import Describe
from engine.host.shared_array import SharedArray
from engine.image.convert import to_depth
from engine.image.samples import SAMPLES, open_sample
from engine.mask.mask import Mask
from engine.results.progress import Checkpoint, Progress
from engine.work.filtering import oracle
from engine.work.filtering.clipping import HINT_FROM
from engine.work.messages import EffectsRequest

_WHITE = 255.0
_BRIGHT_PERCENTILE = 97.0


def describe(request: Describe[EffectsRequest], report: Checkpoint) -> tuple[bytes, ...]:
    """Return RGB pixels of each mask's result; a stop is noticed between two masks."""
    small, done = small_picture(request.job.picture, request.job.side), []
    for number, mask in enumerate(request.job.masks):
        report(Progress("drawing what the masks do", number / len(request.job.masks), 10.0))
        done.append(effect(small, mask).tobytes())
    return tuple(done)


def small_picture(picture: PictureHandle | None, side: int) -> NDArray[np.float32]:
    """Return a square from the middle of a picture, 0 to 255: half of its shorter side, if it is that large.

    Larger parts would be shrunk so much that every mask looks stronger than it is. Without a picture that
    lies in memory the first sample stands for it.
    """
    if picture is not None and isinstance(picture.pixels, SharedArray):
        pixels = shared.attach(picture.pixels)
    else:
        pixels = np.atleast_3d(open_sample(SAMPLES[0].key).pixels)
    height, width, channels = pixels.shape
    step = max(1, min(height, width) // (2 * side))
    rows, columns = min(side, height // step), min(side, width // step)
    top, left = (height - rows * step) // 2, (width - columns * step) // 2
    part = pixels[top : top + rows * step, left : left + columns * step].astype(np.float32)
    means = part.reshape(rows, step, columns, step, channels).mean((1, 3))
    means *= np.float32(_WHITE / full_scale(pixels.dtype))
    np.nan_to_num(means, copy=False, posinf=_WHITE, neginf=0.0)
    # A picture smaller than the square stands in its middle, with its edges drawn out.
    above, before = (side - rows) // 2, (side - columns) // 2
    around = (above, side - rows - above), (before, side - columns - before), (0, 0)
    return np.pad(means.clip(0.0, _WHITE), around, mode="edge")


def effect(small: NDArray[np.float32], mask: Mask) -> NDArray[np.uint8]:
    """Return the result of a mask, RGB; that of an edge mask without its sign, its brightest parts white."""
    values = oracle.correlate(small, mask, Border.REPLICATE)
    clipped = float(((values < -0.5) | (values > _WHITE + 0.5)).mean())
    magnitude = np.abs(values)
    # Most edge masks give a few grey levels or many times white: each is as bright as it can be here.
    bright = float(np.percentile(magnitude, _BRIGHT_PERCENTILE))
    if (clipped > HINT_FROM or _is_of_edges(mask)) and bright > 0.0:
        values = magnitude * (_WHITE / bright)
    shown = to_depth(values, "uint8")
    return np.repeat(shown, 3, axis=2) if shown.shape[2] == 1 else shown[:, :, :3]


def _is_of_edges(mask: Mask) -> bool:
    """Whether an even area becomes black."""
    return abs(float(mask.weights.sum())) <= 1e-3 * float(np.abs(mask.weights).sum()) and not mask.offset
