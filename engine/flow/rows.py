"""A picture larger than memory through a stream: bands are read ahead, filtered, and handed over.

Three things happen at once: a thread reads and decodes the next bands, the calling thread has them filtered
by `Stream` as a batch of small pictures, and another thread takes the results. A strip or a tile that two
bands need is decoded once: the open picture keeps the last ones.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from engine.device.anti_aliasing import trim_reused
from engine.device_info import DeviceInfo
from engine.flow.memory import GPU_CHUNK_BYTES, GPU_RING, MemoryPlan
from engine.flow.picture_memory import Loan, PictureMemory
from engine.flow.stream import Asked, Stream
from engine.geometry.cut import Span, bands_between
from engine.image.large.source import LargePicture
from engine.work.resolve import Resolved


@dataclass(eq=False, slots=True)
class Part:
    """Some rows of the result: from row `top` on; `image` is what they are computed from.

    `rows` are those of the picture that belong to the results, with its alpha.
    """

    top: int
    image: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    all_values: np.ndarray  # of all rows of `image`
    loan: Loan


class RowStream:
    """Filters a large picture.

    Parameters
    ----------
    picture : LargePicture
    plan : Resolved
        What computes the picture; where its own has fewer channels, they are the first ones.
    gpus : sequence of DeviceInfo
        Several that share the work; none: the plan's device does it.
    memory : MemoryPlan
    take : callable of Part
        Gets the results from top to bottom. Called on: a thread of its own.
    """

    def __init__(
        self,
        picture: LargePicture,
        plan: Resolved,
        gpus: Sequence[DeviceInfo],
        memory: MemoryPlan,
        take: Callable[[Part], None],
    ) -> None:
        self._picture, self._plan, self._gpus, self._rows, self._take = picture, plan, gpus, memory, take
        self._memory = PictureMemory(memory.most_bytes, memory.most_bytes)
        self._reading: deque[Future[Part]] = deque()
        self._under_way: deque[Part] = deque()
        self._error: BaseException | None = None
        picture.cache_bytes = max(picture.cache_bytes, memory.cache_bytes)

    def run(self, first_row: int = 0) -> None:
        """Filter all rows from `first_row` on; errors of every thread are raised here."""
        height, band_rows = self._picture.height, self._rows.band_rows
        # None is higher than planned, or lower than a band may be.
        count = height - first_row
        parts = max(1, min(-(-count // band_rows), count // (2 * self._plan.reach.height)))
        edges = [first_row + count * number // parts for number in range(parts + 1)]
        bands = iter(bands_between(self._plan.reach, height, edges))
        with ThreadPoolExecutor(1, "large-read") as reader, ThreadPoolExecutor(1, "large-results") as taker:

            def receive(number: int, values: np.ndarray) -> None:
                taker.submit(self._taken, self._under_way.popleft())
                self._raise_error()

            # On the CPU an image is not cut again.
            is_on_gpu = self._plan.device.is_usable_gpu
            stream = Stream(
                layout=self._plan.asked.layout,
                chunk_bytes=GPU_CHUNK_BYTES if is_on_gpu else 1 << 62,
                ring=GPU_RING,
                receive=receive,
                gpus=self._gpus,
            )
            try:
                stream.run(self._images(bands, reader))
            except BaseException as error:
                self._error = self._error or error
                self._give_back()
                raise
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _images(self, bands: Iterator[Span], reader: ThreadPoolExecutor) -> Iterator[Asked | None]:
        """Yield all bands, with their halos."""
        rows = 0
        while True:
            while len(self._reading) <= self._rows.ahead and (band := next(bands, None)) is not None:
                self._reading.append(reader.submit(self._read, band))
            if not self._reading:
                return
            # It may wait for the memory of an older one.
            while self._under_way and not self._reading[0].done():
                yield None
            part = self._reading[0].result()
            self._under_way.append(part)
            self._reading.popleft()
            self._raise_error()
            if len(part.image) > rows:
                # What lay between the steps of lower ones, those at an edge, serves no other.
                trim_reused()
                rows = len(part.image)
            yield self._plan.at(part.image), part.all_values

    def _read(self, band: Span) -> Part:
        """Return the rows of a band, and memory for their results. Called on: the reading thread."""
        loan = Loan(self._memory)
        try:
            loan.enter(self._rows.band_bytes)
            self._raise_error()
            return self._part(band, loan)
        except BaseException:
            loan.give_back()
            raise

    def _part(self, band: Span, loan: Loan) -> Part:
        picture, problem = self._picture, self._plan.problem
        samples, at = loan.array((band.length, picture.width, picture.channels), picture.dtype), 0
        for first, last in band.sources:
            rows = samples[at : at + last - first]
            picture.read_into(0, slice(first, last), slice(0, picture.width), rows)
            at += last - first
        image = samples
        if problem.channels < picture.channels:
            image = loan.array((*samples.shape[:2], problem.channels), picture.dtype)
            image[...] = samples[..., : problem.channels]
        values = loan.result(image, problem.result_dtype)
        return Part(band.first, image, samples[band.inside], values[band.inside], values, loan)

    def _taken(self, part: Part) -> None:
        """Pass a result on. Called on: a thread of its own."""
        try:
            if self._error is None:
                self._take(part)
        except BaseException as error:  # noqa: BLE001 - raised on the calling thread
            self._error = error
        finally:
            part.loan.give_back()

    def _give_back(self) -> None:
        """Give the memory of all bands back: the reader may wait for it."""
        for part in self._under_way:
            part.loan.give_back()
        for future in self._reading:
            if not future.cancel() and future.exception() is None:
                future.result().loan.give_back()
