"""The values of a result, part by part: those in shared memory, or computed where they are not kept.

A float32 result of an 8-bit picture takes four times the picture. Of a large picture it is therefore never
held as a whole: what is looked at of it is computed again, with the same bits.

Called on: any thread for values in shared memory, the host's main thread for the others.
"""

from collections.abc import Iterator
from importlib import import_module

import numpy as np

from engine.host import shared
from engine.host.shared_array import Computed, SharedArray
from engine.verify.regions import Region

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
