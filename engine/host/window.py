"""Shows a window of the values of a picture: what is black and what is white is chosen, for the screen alone.

Called on: the thread for what comes beside a run, or the main thread.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from engine.host import shared
from engine.host.measuring import parts_of
from engine.host.picture_numbers import PERCENTILES, ShowWindow, Windowed
from engine.host.shared_array import SharedArray
from engine.host.shared_picture import SharedSegment, screen_arrays
from engine.image.convert import full_scale_of
from engine.results.progress import Checkpoint
from engine.verify.regions import Region

_WHITE = 255.0
# Samples from which percentiles are taken: 20 ms.
_MOST_LOOKED_AT = 1 << 21


def show_window(request: ShowWindow, report: Checkpoint) -> Windowed:
    """Return a picture, or a result of it, with these ends black and white."""
    picture, values = request.picture, request.values or request.picture.in_memory
    whole = Region(0, picture.height, 0, picture.width)
    step = 1 + math.prod(picture.pixels.shape) // _MOST_LOOKED_AT
    ends = request.ends or _percentiles((part for _, part in parts_of(values, whole, report)), step)
    arrays = screen_arrays(picture.height, picture.width)
    with SharedSegment() as segment:
        if isinstance(values, SharedArray):
            levels, white = segment.create(*arrays), full_scale_of(np.dtype(picture.dtype))
            return Windowed(segment.rendered(values, levels, white, "rescale", picture.alpha, ends), ends)
        # Values that are not kept: the bytes of the screen are.
        drawn, *levels_of_drawn = segment.create((picture.pixels.shape, "uint8"), *arrays)
        pixels, scale = shared.attach(drawn), _WHITE / ((ends[1] - ends[0]) or 1.0)
        for region, part in parts_of(values, whole, report):
            with np.errstate(invalid="ignore", over="ignore"):
                bytes_ = (part.astype(np.float32) - np.float32(ends[0])) * np.float32(scale)
                pixels[region.slices] = np.nan_to_num(np.rint(bytes_.clip(0.0, _WHITE)))
        return Windowed(segment.rendered(drawn, tuple(levels_of_drawn), _WHITE), ends)


def _percentiles(parts: Iterable[NDArray[np.generic]], step: int) -> tuple[float, float]:
    """Return the values that most of the finite ones lie between; every `step`-th is looked at."""
    found = np.concatenate([part.reshape(-1)[::step].astype(np.float32) for part in parts])
    finite = found[np.isfinite(found)]
    low, high = np.percentile(finite, PERCENTILES).tolist() if finite.size else (0.0, 1.0)
    return low, high
