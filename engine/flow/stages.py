"""Work in three stages, as the loop sees it: made ready on threads, through a stream, taken on threads.

So a band of a large picture is read, filtered and written, and a file of a batch opened, computed, encoded
and written. What needs no stream goes straight from the first threads to the last. The calling thread hands
work on from stage to stage, and is the stream's.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, Self

import numpy as np
from numpy.typing import NDArray

from engine.errors import DeviceFault, EngineError
from engine.flow.chunks import Work
from engine.flow.stream import Asked, Preparing, Stream
from engine.geometry.border import RangeMode, Span, bands
from engine.image.save import Conversion, Loss
from engine.verify.verification import CheckedSamples
from engine.work.resolve import Resolved


@dataclass(kw_only=True, eq=False)
class Staged(Generic[Work]):
    """What is done in each stage, on how many threads; at most `most` is under way. A context manager.

    `ready` returns what a stream is asked for, or None where it needs none; `take` is called once that is
    computed, in order with a single taker. `failed` is called with an error of one of the two, and returns
    whether the work is done with; else the error is raised. `dropped` is called with work that is not taken.
    Where `alone` is given, and a picture breaks the stream off, it computes those in it one by one, and a new
    stream is made.
    """

    ready: Callable[[Work], Asked | None]
    take: Callable[[Work], object]
    threads: int
    takers: int
    most: int
    stream: Callable[[], Stream] | None = None
    alone: Callable[[Asked], object] | None = None
    failed: Callable[[Work, BaseException], bool] = lambda work, error: False
    dropped: Callable[[Work], object] = lambda work: None
    name: str = "flow"

    def __post_init__(self) -> None:
        self._openers = ThreadPoolExecutor(self.threads, f"{self.name}-ready")
        self._takers = ThreadPoolExecutor(self.takers, f"{self.name}-take")
        self._stream: Stream | None = None
        # Each the oldest first; what is computed, and waits for what was sent before.
        self._opening: dict[Future[Asked | None], Work] = {}
        self._in_stream: dict[Asked, Work] = {}
        self._computed: set[Asked] = set()
        self._taking: dict[Future[object], Work] = {}
        self._finished: list[Work] = []
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Its copies end before their memory is anyone's again.
        self._close_stream()
        self._drop(self._in_stream.values())
        for future, work in self._opening.items():
            future.cancel()
            future.add_done_callback(lambda _, work=work: self.dropped(work))  # type: ignore[misc]
        self._openers.shutdown()
        self._takers.shutdown()

    @property
    def has_room(self) -> bool:
        """Whether more can be sent."""
        under_way = len(self._opening) + len(self._in_stream) + len(self._taking) + len(self._finished)
        return self._error is None and under_way < self.most

    def send(self, work: Work) -> None:
        """Have work made ready."""
        self._opening[self._openers.submit(self.ready, work)] = work

    def wait(self) -> list[Work]:
        """Wait until some is finished; after an error until all is that can be, and then raise it."""
        while not self._finished:
            taken = next((future for future in self._taking if future.done()), None)
            ready = next((future for future in self._opening if future.done()), None)
            if taken is not None:
                self._settle(self._taking.pop(taken), taken.exception())
            elif ready is not None and (self._stream is None or self._stream.has_room):
                self._hand_on(self._opening.pop(ready), ready)
            elif self._in_stream:
                self._compute(self._receive)
            elif self._opening or self._taking:
                futures: list[Future[Any]] = [*self._opening, *self._taking]
                wait(futures, return_when=FIRST_COMPLETED)
            elif self._error is not None:
                raise self._error
        found, self._finished = self._finished, []
        return found

    def _settle(self, work: Work, error: BaseException | None) -> None:
        """Note that work is finished, or why it is not."""
        if error is None or self.failed(work, error):
            self._finished.append(work)
        else:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        for future in self._opening:
            future.cancel()

    def _hand_on(self, work: Work, future: Future[Asked | None]) -> None:
        """Give work that is ready to the stream, or to who takes it."""
        if future.cancelled() or future.exception() is not None:
            self.dropped(work)
            if not future.cancelled():
                self._settle(work, future.exception())
        elif (asked := future.result()) is None:
            self._take(work)
        elif self._error is not None:
            self.dropped(work)
        else:
            self._in_stream[asked] = work
            self._compute(lambda stream: stream.send(asked))

    def _take(self, work: Work) -> None:
        self._taking[self._takers.submit(self.take, work)] = work

    def _receive(self, stream: Stream) -> None:
        self._computed.update(stream.wait())
        is_ordered = self.takers == 1
        for asked in list(self._in_stream):
            if asked in self._computed:
                self._computed.remove(asked)
                self._take(self._in_stream.pop(asked))
            elif is_ordered:
                break

    def _compute(self, act: Callable[[Stream], object]) -> None:
        """Do something with the stream; where that fails, go on without those in it, or with each alone."""
        assert self.stream is not None
        try:
            self._stream = self._stream or self.stream()
            act(self._stream)
        except (EngineError, MemoryError) as error:
            self._close_stream()
            left, self._in_stream, self._computed = self._in_stream, {}, set()
            alone = self.alone
            if alone is None or isinstance(error, DeviceFault):
                self._fail(error)
                self._drop(left.values())
                return
            for asked, work in left.items():
                try:
                    alone(asked)
                except (EngineError, MemoryError) as why:
                    self.dropped(work)
                    self._settle(work, why)
                else:
                    self._take(work)

    def _drop(self, left: Iterable[Work]) -> None:
        for work in left:
            self.dropped(work)

    def _close_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class PictureMemory:
    """Counts bytes. Called on: any thread.

    Pictures wait while others take more than `most_bytes` together, but a single one has whatever it needs.
    """

    def __init__(self, most_bytes: float = math.inf) -> None:
        self._most_bytes, self._lent_bytes = most_bytes, 0
        self._changed = threading.Condition()

    def enter(self, size: int, loan: ExitStack) -> None:
        """Wait until a picture that takes so many bytes may begin; the end of `loan` gives them back.

        Nothing may refer to its arrays any more by then.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._lent_bytes == 0 or self._lent_bytes + size <= self._most_bytes
            )
            self._lent_bytes += size
        loan.callback(self.leave, size)

    def leave(self, size: int) -> None:
        """End a picture."""
        with self._changed:
            self._lent_bytes -= size
            self._changed.notify_all()


# Bytes of float32 results: they stay in the caches of a core until they are converted.
BAND_BYTES = 2 << 20


def bands_to_convert(call: Resolved) -> tuple[Span, ...]:
    """Return the bands that a picture is computed in."""
    return bands(call.reach, call.problem.height, call.problem.rows_of(BAND_BYTES))


def convert(
    call: Resolved, out: np.ndarray, floats: NDArray[np.float32], checked: CheckedSamples, mode: RangeMode
) -> Loss:
    """Compute a picture on the CPU into samples `out` of a file; return what these lose.

    `floats` has room for the result of the highest band with its halo; `checked` keeps what is verified.
    """
    conversion = Conversion(call.samples.dtype, out.dtype, mode)
    conversion.find_ends(values for _, values in _computed(call, floats))
    for top, values in _computed(call, floats):
        checked.keep(top, values)
        conversion.samples(values, out[top : top + len(values)])
    return conversion.loss


def _computed(call: Resolved, floats: NDArray[np.float32]) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the first row and the float32 results of each band, which the next one overwrites."""
    preparing, samples = Preparing(), call.samples
    for band in bands_to_convert(call):
        sources = [samples[first:last] for first, last in band.sources]
        image = sources[0] if len(sources) == 1 else np.concatenate(sources)
        preparing.ready(lambda: call, image.shape).launch(image, floats[: band.length])
        yield band.first, floats[band.inside]
