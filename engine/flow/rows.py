"""A picture larger than memory through a stream: bands are read ahead, filtered, and handed over.

Three things happen at once: a thread reads and decodes the next bands, the calling thread has them filtered
by `Stream` as a batch of small pictures, and another thread takes the results. A strip or a tile that two
bands need is decoded once: the open picture keeps the last ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine.device.anti_aliasing import reused_array, reused_result, trim_reused
from engine.flow.loop import Loop
from engine.flow.memory import GPU_CHUNK_BYTES, GPU_RING, MemoryPlan
from engine.flow.stages import Staged
from engine.flow.stream import Asked, Stream
from engine.geometry.cut import Span, bands_between
from engine.image.large.source import LargePicture
from engine.work.resolve import Resolved

_NOTHING = np.empty(0)


@dataclass(eq=False, slots=True)
class Part:
    """Some rows of the result; `image` is what they are computed from, once it is read.

    `rows` are those of the picture that belong to the results, with its alpha.
    """

    picture: int
    band: Span
    image: np.ndarray = field(init=False)
    rows: np.ndarray = field(init=False)
    values: np.ndarray = field(init=False)
    all_values: np.ndarray = field(init=False)  # of all rows of `image`

    @property
    def top(self) -> int:
        """The first row."""
        return self.band.first


@dataclass(eq=False)
class RowStream:
    """Filters a large picture.

    Parameters
    ----------
    picture : LargePicture
    plan : Resolved
        What computes the picture; where its own has fewer channels, they are the first ones.
    memory : MemoryPlan
    take : callable of Part
        Gets the results from top to bottom. Called on: a thread of its own.
    """

    picture: LargePicture
    plan: Resolved
    memory: MemoryPlan
    take: Callable[[Part], None]

    def __post_init__(self) -> None:
        self._has_failed = False
        self.picture.cache_bytes = max(self.picture.cache_bytes, self.memory.cache_bytes)

    def run(self, first_row: int = 0) -> None:
        """Filter all rows from `first_row` on; errors of every thread are raised here."""
        height, band_rows = self.picture.height, self.memory.band_rows
        # None is higher than planned, or lower than a band may be.
        count = height - first_row
        parts = max(1, min(-(-count // band_rows), count // (2 * self.plan.reach.height)))
        edges = [first_row + count * number // parts for number in range(parts + 1)]
        bands = bands_between(self.plan.reach, height, edges)
        with Staged[Part](
            ready=self._read, take=self._taken, threads=1, takers=1, most=self.memory.most_bands,
            stream=self._stream, name="large",
        ) as device:  # fmt: skip
            Loop(device, lambda part: None).run(Part(number, band) for number, band in enumerate(bands))

    def _stream(self) -> Stream:
        # On the CPU an image is not cut again.
        chunk_bytes = GPU_CHUNK_BYTES if self.plan.device.is_usable_gpu else 1 << 62
        return _Bands(chunk_bytes=chunk_bytes, ring=GPU_RING)

    def _taken(self, part: Part) -> None:
        try:
            if not self._has_failed:
                self.take(part)
        except BaseException:
            # Those after it would be written in its place.
            self._has_failed = True
            raise
        finally:
            # Their memory is the next band's.
            part.image = part.rows = part.values = part.all_values = _NOTHING

    def _read(self, part: Part) -> Asked:
        """Read the rows of a band into memory, with some for their results. Called on: the reading thread."""
        picture, problem, band = self.picture, self.plan.problem, part.band
        samples, at = reused_array((band.length, picture.width, picture.channels), picture.dtype), 0
        for first, last in band.sources:
            rows = samples[at : at + last - first]
            picture.read_into(0, slice(first, last), slice(0, picture.width), rows)
            at += last - first
        part.image = samples
        if problem.channels < picture.channels:
            part.image = reused_array((*samples.shape[:2], problem.channels), picture.dtype)
            part.image[...] = samples[..., : problem.channels]
        part.all_values = reused_result(part.image, part.image.shape, problem.result_dtype)
        part.rows, part.values = samples[band.inside], part.all_values[band.inside]
        return Asked(part.picture, self.plan.at(part.image), part.all_values)


class _Bands(Stream):
    """Keeps no memory of lower bands, those at an edge: what lay between their steps serves no other."""

    _rows = 0

    def send(self, work: Asked) -> None:
        rows = len(work.request.samples)
        if rows > self._rows:
            trim_reused()
            self._rows = rows
        super().send(work)
