"""Counts the samples of pictures. Called on: the thread for what comes beside a run, or the main thread."""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from engine.compiled.machine_code import MachineFunction
from engine.host import shared
from engine.host.display_levels import value_range
from engine.host.protocol import (
    BINS,
    PERCENTILES,
    ChannelNumbers,
    MeasurePicture,
    PictureNumbers,
    ShowWindow,
    Windowed,
)
from engine.host.request import Computed, SharedArray
from engine.host.shared_picture import SharedSegment, bands_of, screen_arrays
from engine.image.convert import full_scale_of
from engine.image.form import bands
from engine.results.progress import Checkpoint, Progress
from engine.verify.regions import Region

_count = MachineFunction("engine.host.display_code", "count")


def measure_picture(request: MeasurePicture, report: Checkpoint) -> PictureNumbers:
    """Return the numbers of a picture and its result."""
    before = _numbers(request.picture.in_memory, request, report)
    if request.values is None:
        return PictureNumbers(*before)
    return PictureNumbers(*before, *_numbers(request.values, request, report))


def parts_of(
    values: SharedArray | Computed, region: Region, report: Checkpoint
) -> Iterator[tuple[Region, NDArray[np.generic]]]:
    """Yield a region of values in bands; whoever asked may want another picture by now."""
    for band, part in bands_of(values, region):
        report(Progress("counting", 0.0, 5.0))
        yield band, part


def _numbers(
    values: SharedArray | Computed, request: MeasurePicture, report: Checkpoint
) -> tuple[tuple[ChannelNumbers, ...], tuple[float, float]]:
    picture = request.picture
    region = request.region or Region(0, picture.height, 0, picture.width)
    white, ends = full_scale_of(np.dtype(picture.dtype)), (0.0, 255.0)
    if not (isinstance(values, SharedArray) and values.dtype == "uint8"):
        found = [value_range(part) for _, part in parts_of(values, region, report)]
        low, high = min(low for low, _ in found), max(high for _, high in found)
        ends = (low, high) if low < high else (0.0, white)
    counts = [_Counts(white, ends) for _ in range(picture.channels)]
    for _, part in parts_of(values, region, report):
        for rows in bands(len(part), part[0].nbytes):
            for channel, one in enumerate(counts):
                one.add(part[rows, :, channel].reshape(-1))
    return tuple(one.numbers for one in counts), ends


class _Counts:
    """What was counted of a channel; `white` is its full scale, the bins lie between the ends."""

    def __init__(self, white: float, ends: tuple[float, float]) -> None:
        self._white, self._ends = white, ends
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
        low, high = self._ends
        how = self._white, low, BINS / (high - low)
        _count(samples.astype(np.float32), *how, self._bins, self._outside, self._sums)

    @property
    def numbers(self) -> ChannelNumbers:
        """The numbers of all samples that were counted."""
        below, above, not_finite = self._outside.tolist()
        total, squares, *ends = self._sums.tolist()
        counts = tuple(self._bins.tolist())
        count = sum(counts)
        mean = total / count if count else math.nan
        deviation = math.sqrt(max(0.0, squares / count - mean * mean)) if count else math.nan
        least, most = ends if count else (math.nan, math.nan)
        return ChannelNumbers(counts, below, above, not_finite, mean, deviation, least, most)


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
