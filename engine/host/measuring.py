"""Counts the samples of pictures. Called on: the thread for what comes beside a run, or the main thread."""

import math

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.host.picture_numbers import BINS, ChannelNumbers, MeasurePicture, PictureNumbers
from engine.host.result_values import bands_of
from engine.host.shared_array import Computed, SharedArray
from engine.image.colour import full_scale_of
from engine.image.scratch import bands
from engine.results.progress import Checkpoint, Progress
from engine.verify.regions import Region

_count = MachineFunction("engine.host.display_code", "count")


def measure_picture(request: MeasurePicture, report: Checkpoint) -> PictureNumbers:
    """Return the numbers of a picture and its result."""
    picture = request.picture
    found = [_numbers(picture.in_memory, request, report)]
    if request.values is not None:
        found.append(_numbers(request.values, request, report))
    return PictureNumbers(*found)


def _numbers(
    values: SharedArray | Computed, request: MeasurePicture, report: Checkpoint
) -> tuple[ChannelNumbers, ...]:
    picture = request.picture
    region = request.region or Region(0, picture.height, 0, picture.width)
    counts = [_Counts(full_scale_of(np.dtype(picture.dtype))) for _ in range(picture.channels)]
    for _, part in bands_of(values, region):
        for rows in bands(len(part), part[0].nbytes):
            # Whoever asked may want another picture by now.
            report(Progress("counting", 0.0, 5.0))
            for channel, one in enumerate(counts):
                one.add(part[rows, :, channel].reshape(-1))
    return tuple(one.numbers for one in counts)


class _Counts:
    """What was counted of a channel; `white` is its full scale."""

    def __init__(self, white: float) -> None:
        self._white = white
        self._bins, self._outside = np.zeros(BINS, np.int64), np.zeros(3, np.int64)
        self._sums = np.array([0.0, 0.0, np.inf, -np.inf])

    def add(self, samples: np.ndarray) -> None:
        """Count some more."""
        if samples.dtype == np.uint8:
            # Its bins are its values: 1 ns for a sample, in place of 4.
            found, levels = np.bincount(samples, minlength=BINS), np.arange(BINS, dtype=np.float64)
            there = np.flatnonzero(found)
            self._bins += found
            self._sums[:2] += found @ levels, found @ levels**2
            self._sums[2:] = min(self._sums[2], there[0]), max(self._sums[3], there[-1])
            return
        white = self._white
        per_unit = BINS / (white + (1.0 if white > 1.0 else 0.0))
        _count(samples.astype(np.float32), white, per_unit, self._bins, self._outside, self._sums)

    @property
    def numbers(self) -> ChannelNumbers:
        """The numbers of all samples that were counted."""
        below, above, not_finite = self._outside.tolist()
        total, squares, *ends = self._sums.tolist()
        counts = tuple(self._bins.tolist())
        count = sum(counts) + below + above
        mean = total / count if count else math.nan
        deviation = math.sqrt(max(0.0, squares / count - mean * mean)) if count else math.nan
        least, most = ends if count else (math.nan, math.nan)
        return ChannelNumbers(counts, below, above, not_finite, mean, deviation, least, most)
