"""A picture larger than memory through a stream: bands are read ahead, filtered, and handed over.

Three things happen at once: a thread reads and decodes the next bands, the calling thread has them filtered
by `Stream` as a batch of small pictures, and another thread takes the results. A strip or a tile that two
bands need is decoded once: the open picture keeps the last ones.
"""

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from engine.device.host_memory import reused_array, reused_result, trim_reused
from engine.errors import BadValue
from engine.flow.chunks import Flow
from engine.flow.stream import Stream, StreamPicture
from engine.geometry.block import FLOAT_BYTES
from engine.geometry.border import Span, bands_between
from engine.image.large.source import LargePicture, Storage
from engine.process import bytes_text, cores
from engine.work.resolve import Resolved

# What is filtered at a time, and what is read ahead: more is no faster.
_BAND_BYTES = 32 << 20
_AHEAD_BYTES = 64 << 20
# Chunks on a GPU: the ring of the stream has so many, twice as many are under way.
GPU_RING, GPU_CHUNK_BYTES = 3, 16 << 20
# What libraries take that the process has not loaded yet, and what its allocator keeps.
_LATER_BYTES = 160 << 20
_LATER_BYTES_ON_GPU = 900 << 20
# Where a system does not say what a process takes.
_USUAL_BYTES = 300 << 20


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The bands of a run."""

    band_rows: int  # that are filtered at a time
    most_bands: int  # in memory at once
    cache_bytes: int  # of decoded strips or tiles that the next band needs too
    needed_bytes: int  # the most that the process takes with all


def plan_memory(
    picture: LargePicture, work: Resolved, storage: Storage, dtype: np.dtype, memory: int | None, verify: bool
) -> MemoryPlan:
    """Return the plan for a bound of memory, None for enough to be fast; refuse a bound below the least."""
    problem, halo, task, height = work.problem, work.reach.height, work.task, picture.height
    gpus = len(work.devices) if work.device.is_usable_gpu else 0
    between = task.between(work.job()) if not gpus else 0
    samples, colours = picture.width * picture.channels, picture.width * problem.channels
    in_row, out_row = samples * problem.itemsize, samples * dtype.itemsize
    value_row, float_row = colours * problem.result_itemsize, colours * FLOAT_BYTES
    rows_of_segment, columns_of_segment = picture.chunk
    segment = rows_of_segment * columns_of_segment * picture.channels * problem.itemsize
    segment = max(segment, picture.segment_bytes)
    out_tile = math.prod(storage.chunk) * picture.channels * dtype.itemsize
    # Rows that are written together, those that are halved, and those of a store.
    copies = 1 + (storage.smallest is not None) + 2 * (storage.kind == "zarr")
    fixed = copies * min(storage.rows_at_once, height) * out_row
    fixed += _resident_bytes() + (_LATER_BYTES_ON_GPU if gpus else _LATER_BYTES)
    fixed += task.proof_rows * halo * float_row if verify else 0
    # Of what is decoded and encoded on threads, with the compressed bytes.
    fixed += 3 * cores() * segment + 8 * cores() * out_tile
    # Those that a halo lies in, and what threads decode besides.
    segments = min(-(-halo // rows_of_segment) + 1, -(-height // rows_of_segment))
    cached_rows = segments * rows_of_segment
    cache_bytes = cached_rows * in_row + cores() * segment

    def plan(band_rows: int, ahead_bytes: int) -> MemoryPlan:
        rows = min(band_rows, height) + halo
        # Colours without their alpha are copied.
        copied = in_row if picture.channels > problem.channels else 0
        band_bytes = rows * (in_row + copied + value_row)
        # Enough that strips or tiles are decoded while the bands before are filtered.
        ahead = max(1, min(-(-rows_of_segment // band_rows), ahead_bytes // band_bytes))
        most = 3 + ahead + 2 * GPU_RING * gpus
        # In the ring of each GPU, and its pinned memory.
        on_gpus = 4 * GPU_RING * gpus * max(GPU_CHUNK_BYTES, band_rows * max(in_row, value_row))
        needed = fixed + cache_bytes + most * band_bytes + on_gpus + between * rows * float_row
        return MemoryPlan(band_rows, most, cache_bytes, needed)

    # A band holds twice the rows of a mask.
    chosen = plan(max(2 * halo, _BAND_BYTES // max(in_row, value_row)), _AHEAD_BYTES)
    if memory is None:
        return chosen
    least = plan(2 * halo, 0)
    if least.needed_bytes > memory:
        raise BadValue(
            f"--memory {bytes_text(memory)}",
            f"filtering {picture.path.name} in bands takes {bytes_text(least.needed_bytes)} at least: "
            f"{cached_rows:,} rows of it at a time, which are stored together",
            f"Give --memory {-(-least.needed_bytes >> 20)}M, or save it in smaller strips or tiles.",
        )
    while chosen.needed_bytes > memory and chosen.band_rows > 2 * halo:
        chosen = plan(max(2 * halo, chosen.band_rows * 7 // 8), _AHEAD_BYTES)
    return chosen if chosen.needed_bytes <= memory else least


def _resident_bytes() -> int:
    """Return the most memory that this process had so far."""
    # Not `ru_maxrss` where this is: a new process has that of the one that started it.
    with suppress(OSError, StopIteration, ValueError), open("/proc/self/status", encoding="ascii") as lines:
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    if find_spec("resource") is None:  # Windows
        return _USUAL_BYTES
    resource = import_module("resource")
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class RowBand(StreamPicture):
    """A band of the result; all but where it lies is there from when it is read until it is taken."""

    rows: np.ndarray  # of the picture, with its alpha, that belong to the results; `out` has the halo's, too

    def __init__(self, band: Span) -> None:
        self.band = band

    @property
    def values(self) -> np.ndarray:
        """Its results."""
        return self.out[self.band.inside]


def filter_rows(
    picture: LargePicture, plan: Resolved, memory: MemoryPlan, take: Callable[[RowBand], None], first: int = 0
) -> None:
    """Filter all rows of a large picture from the `first` on; errors of every thread are raised here.

    `plan` computes the picture; where its own has fewer channels, they are the first ones. `take` gets the
    results from top to bottom. Called on: a thread of its own.
    """
    has_failed, channels, problem = False, picture.channels, plan.problem
    picture.cache_bytes = max(picture.cache_bytes, memory.cache_bytes)

    def read(work: RowBand) -> RowBand:
        """Read the rows of a band into memory, with some for their results. Called on: the reading thread."""
        band, at = work.band, 0
        image = samples = reused_array((band.length, picture.width, channels), picture.dtype)
        for top, bottom in band.sources:
            rows = samples[at : at + bottom - top]
            picture.read_into(0, slice(top, bottom), slice(0, picture.width), rows)
            at += len(rows)
        if problem.channels < channels:
            image = reused_array((*samples.shape[:2], problem.channels), picture.dtype)
            image[...] = samples[..., : problem.channels]
        work.rows, work.request = samples[band.inside], plan.at(image)
        work.out = reused_result(image, image.shape, problem.result_dtype)
        return work

    def taken(work: RowBand) -> None:
        nonlocal has_failed
        try:
            if not has_failed:
                take(work)
        except BaseException:
            # Those after it would be written in its place.
            has_failed = True
            raise
        finally:
            # Their memory is the next band's.
            del work.rows, work.request, work.out

    # None is higher than planned, or lower than a band may be.
    count = picture.height - first
    bands = max(1, min(-(-count // memory.band_rows), count // (2 * plan.reach.height)))
    edges = [first + count * number // bands for number in range(bands + 1)]
    # On the CPU an image is not cut again.
    chunk_bytes = GPU_CHUNK_BYTES if plan.device.is_usable_gpu else 1 << 62
    flow = Flow[RowBand](
        ready=read, take=taken, threads=1, takers=1, most=memory.most_bands,
        stream=partial(_Bands, chunk_bytes=chunk_bytes, ring=GPU_RING),
    )  # fmt: skip
    flow.run(map(RowBand, bands_between(plan.reach, picture.height, edges)))


class _Bands(Stream):
    """Keeps no memory of lower bands, those at an edge: what lay between their steps serves no other."""

    _rows = 0

    def send(self, work: StreamPicture) -> None:
        if len(work.out) > self._rows:
            trim_reused()
            self._rows = len(work.out)
        super().send(work)
