"""What equalisation makes of samples that are known within a range: counts of all samples come first.

How many samples lie in a bin or below it is known within two numbers: those whose whole range does, and those
of which a part does. So each bin's level has a range too; where no sample lies on both sides of a bin's end
that is one number.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.verify.closeness import UNIT_ROUNDOFF
from engine.work.operations.cells import Floats, Range
from engine.work.operations.equalise import ROUNDINGS
from engine.work.operations.histogram import bins_of
from engine.work.operations.problem import OperationProblem

_BAND_SAMPLES = 1 << 20
Counts = NDArray[np.int64]


class Levels(NamedTuple):
    """The level of each bin, and between what it lies: (channels, bins); NaN: the sample stays."""

    value: Floats
    low: Floats
    high: Floats


def counted_levels(
    problem: OperationProblem, range_of: Callable[[NDArray[np.intp], NDArray[np.intp]], Range]
) -> Levels:
    """Return the levels of a picture whose samples `range_of` gives for rows and columns, from 0 to 1."""
    bins = problem.whole("bins")
    counts = np.zeros((3, problem.channels, bins), np.int64)
    rows, columns = max(1, _BAND_SAMPLES // (problem.width * problem.channels)), np.arange(problem.width)
    for top in range(0, problem.height, rows):
        found = range_of(np.arange(top, min(problem.height, top + rows)), columns)
        for of_part, part in zip(counts, found.parts, strict=True):
            places = bins_of(part, bins)
            for channel in range(problem.channels):
                own = places[..., channel]
                of_part[channel] += np.bincount(own[own >= 0], minlength=bins)
    # The highest values lie in the highest bins: the fewest are at or below a bin.
    value, most, fewest = np.cumsum(counts, axis=2)
    return Levels(*(np.stack(one) for one in zip(*map(_of_channel, value, fewest, most), strict=True)))


def _of_channel(value: Counts, fewest: Counts, most: Counts) -> tuple[Floats, Floats, Floats]:
    total = int(value[-1])
    first = int(np.flatnonzero(most)[0]) if most[-1] else 0
    surely = int(np.flatnonzero(fewest)[0]) if fewest[-1] else 0
    darkest = int(value[np.flatnonzero(value)[0]]) if total else 0
    least, largest = (int(fewest[first]), int(most[first])) if first == surely else (0, int(most[surely]))
    if total == largest:
        # One bin, or perhaps one: then the samples stay as they are.
        stays = np.full(value.shape, np.nan)
        if least == largest:
            return stays, stays, stays
        return stays, np.zeros(value.shape), np.ones(value.shape)
    rounded = 2 * ROUNDINGS * UNIT_ROUNDOFF
    exact = (value - darkest) / (total - darkest)
    low = (fewest - largest) / (total - largest) * (1 - rounded)
    high = (most - least) / (total - least) * (1 + rounded)
    return np.where(exact < 0, np.nan, exact), np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0 + rounded)


def levelled(samples: Range, levels: Levels, problem: OperationProblem) -> tuple[Range, int]:
    """Return the new levels of samples, and how many may lie in two bins."""
    places = [bins_of(part, problem.whole("bins")) for part in samples.parts]

    def looked_up(table: Floats, at: NDArray[np.int64], samples: Floats) -> Floats:
        found = np.stack([table[c, at[..., c]] for c in range(problem.channels)], axis=-1)
        kept: Floats = np.where((at < 0) | np.isnan(found), samples, found)
        return kept

    parts = [looked_up(*each) for each in zip(levels, places, samples.parts, strict=True)]
    value, low, high = parts[0], *parts[1:]
    undecided = int(np.count_nonzero(places[1] != places[2]))
    return Range(value, np.minimum(low, value), np.maximum(high, value)), undecided
