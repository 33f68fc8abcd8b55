"""Counts the samples of pictures. Called on: the thread for what comes beside a run."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.host import shared
from engine.host.display_levels import full_scale
from engine.host.picture_numbers import BINS, ChannelNumbers, MeasurePicture, PictureNumbers
from engine.image.scratch import bands_of
from engine.results.progress import Checkpoint, Progress


def measure_picture(request: MeasurePicture, report: Checkpoint) -> PictureNumbers:
    """Return the numbers of a picture and its result."""
    picture = shared.attach(request.picture.in_memory)
    white = full_scale(picture.dtype)
    found = [_numbers(picture, request, white, report)]
    if request.values is not None:
        found.append(_numbers(shared.attach(request.values), request, white, report))
    return PictureNumbers(*found)


def _numbers(
    values: NDArray[Any], request: MeasurePicture, white: float, report: Checkpoint
) -> tuple[ChannelNumbers, ...]:
    part = values if request.region is None else values[request.region.slices]
    return tuple(_channel(part[..., channel], white, report) for channel in range(part.shape[2]))


def _channel(values: NDArray[Any], white: float, report: Checkpoint) -> ChannelNumbers:
    counts, below, above, not_finite = np.zeros(BINS, np.int64), 0, 0, 0
    total = squares = 0.0
    least, most = math.inf, -math.inf
    for rows in bands_of(values):
        # Whoever asked may want another picture by now.
        report(Progress("counting", 0.0, 5.0))
        band = values[rows].reshape(-1)
        if band.dtype == np.uint8:
            found = np.bincount(band, minlength=BINS)
            counts += found
            levels = np.arange(BINS, dtype=np.float64)
            total, squares = total + float(found @ levels), squares + float(found @ levels**2)
            there = np.flatnonzero(found)
            least, most = min(least, float(there[0])), max(most, float(there[-1]))
            continue
        is_finite = np.isfinite(band)
        if not is_finite.all():
            not_finite += int(band.size - np.count_nonzero(is_finite))
            band = band[is_finite]
        if not band.size:
            continue
        numbers = band.astype(np.float64)
        total, squares = total + float(numbers.sum()), squares + float(numbers @ numbers)
        least, most = min(least, float(numbers.min())), max(most, float(numbers.max()))
        is_below, is_above = numbers < 0, numbers > white
        below, above = below + int(is_below.sum()), above + int(is_above.sum())
        inside = numbers[~(is_below | is_above)] * (BINS / (white + (1 if white > 1 else 0)))
        counts += np.bincount(np.minimum(inside.astype(np.int64), BINS - 1), minlength=BINS)
    count = int(counts.sum()) + below + above
    mean = total / count if count else math.nan
    deviation = math.sqrt(max(0.0, squares / count - mean * mean)) if count else math.nan
    ends = (least, most) if count else (math.nan, math.nan)
    return ChannelNumbers(tuple(counts.tolist()), below, above, not_finite, mean, deviation, *ends)
