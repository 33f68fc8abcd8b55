"""The loop over devices with queues: the next chunk to the freest one, results reported in their order.

The calling thread makes the chunks, gives each to the device with the fewest under way, and reports them. So
the pictures are taken, and the results received, on that thread alone. One device is driven by that thread
too; each of several has a thread of its own, and all write into the same results, each its own rows. A device
waits for its oldest chunk when it is asked to: while there is room anywhere, it has its next ones enqueued.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from engine.device.cuda_faults import cuda_errors_in_words
from engine.errors import Cancelled, EngineError
from engine.flow.chunks import ChunkJob
from engine.flow.pipeline import Pipeline
from engine.flow.timeline import Queue, Span

_ORDER = {queue: place for place, queue in enumerate(Queue)}


class _Here:
    """The calling thread, as an executor of one thread: what is submitted is done at once."""

    def submit(self, act: Callable[..., Any], *given: object) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(act(*given))
        return done

    def shutdown(self) -> None:
        pass


class Driver:
    """A device and the thread that drives it, as the calling thread sees them.

    `opened` gives the device and closes it. At most `most` chunks are under way. `doing` says in errors what
    a GPU was doing. With `is_apart` it has a thread of its own.
    """

    def __init__(
        self,
        key: str,
        opened: Callable[[], AbstractContextManager[Pipeline]],
        most: int,
        doing: str = "",
        *,
        is_apart: bool = False,
    ) -> None:
        self.key, self.most = key, most
        self.under_way: deque[ChunkJob] = deque()
        self.error: BaseException | None = None
        self._opened, self._stack = opened, ExitStack()
        self._in_words = partial(cuda_errors_in_words, doing) if doing else nullcontext
        self._finishing: Future[bool] | None = None
        self._thread: ThreadPoolExecutor | _Here
        self._thread = ThreadPoolExecutor(1, f"stream-{key}") if is_apart else _Here()
        self._thread.submit(self._tried, self._open)

    def _open(self) -> None:
        self.device = self._stack.enter_context(self._opened())

    def _tried(self, act: Callable[..., object], *given: object) -> bool:
        """Do something, but nothing after an error; return whether it was done. Called on: that thread."""
        if self.error is None:
            try:
                with self._in_words():
                    act(*given)
                return True
            except BaseException as error:  # noqa: BLE001 - raised by the calling thread
                self.error = error
        return False

    def send(self, job: ChunkJob) -> None:
        """Give the device a chunk."""
        self.under_way.append(job)
        self._thread.submit(self._tried, lambda: self.device.send(job))

    def finishing(self) -> Future[bool]:
        """Have the oldest chunk finished, if nobody asked yet."""
        if self._finishing is None:
            self._finishing = self._thread.submit(self._tried, lambda: self.device.finish())
        return self._finishing

    def finished(self) -> ChunkJob | None:
        """Return the oldest chunk once, where it is finished."""
        if self._finishing is None or not self._finishing.done():
            return None
        is_finished, self._finishing = self._finishing.result(), None
        return self.under_way.popleft() if is_finished else None

    def close(self) -> None:
        """Close the device; what it has not begun is dropped."""
        before, self.error = self.error, self.error or Cancelled("The stream has ended")
        closing = self._thread.submit(self._close, before)
        self._thread.shutdown()
        closing.result()

    def _close(self, before: BaseException | None) -> None:
        try:
            with self._in_words():
                self._stack.close()
        except Exception:
            # A device that has failed fails again.
            if before is None:
                raise


class Loop:
    """Sends chunks through devices, and calls `finished` with each in order, on the calling thread.

    Results that wait for those before them are of a few pictures for each device. `keys` has the key of the
    device that each chunk went to, by its number.
    """

    def __init__(self, drivers: Sequence[Driver], finished: Callable[[ChunkJob], None]) -> None:
        self._drivers, self._finished = drivers, finished
        self._most_pictures = 2 * sum(driver.most for driver in drivers)
        # Chunks that were given and not reported, by number; those of them that are finished.
        self._given: dict[int, ChunkJob] = {}
        self._done: set[int] = set()
        self._is_heard = True
        self.keys: list[str] = []

    def run(self, jobs: Iterable[ChunkJob | None]) -> None:
        """Send all chunks through and wait for them; called once.

        They are taken one by one as there is room. None in place of one, where the next is not there yet, has
        an older one finished. Where a device fails, or a job, the others finish what they have begun, which
        is reported too, before the error is raised.
        """
        with ExitStack() as stack:
            for driver in self._drivers:
                stack.callback(driver.close)
            try:
                self._send_all(iter(jobs))
            except Exception as error:
                first = self._error_after(error)
                if first is error:
                    raise
                raise first from error

    def _send_all(self, jobs: Iterator[ChunkJob | None]) -> None:
        while True:
            driver = self._freest()
            try:
                job = next(jobs)
            except StopIteration:
                break
            if job is not None:
                self._given[job.chunk.number] = job
                self.keys.append(driver.key)
                driver.send(job)
            elif self._given:
                self._wait()
            self._raise_failure()
        while self._given:
            self._wait()

    def _freest(self) -> Driver:
        """Return the device with the fewest chunks, as soon as one has room."""
        while True:
            free = [driver for driver in self._drivers if len(driver.under_way) < driver.most]
            if free and self._pictures_waiting() < self._most_pictures:
                return min(free, key=lambda driver: len(driver.under_way))
            self._wait()

    def _pictures_waiting(self) -> int:
        waiting = list(self._given.values())
        return waiting[-1].chunk.picture - waiting[0].chunk.picture if waiting else 0

    def _wait(self) -> None:
        """Wait until a device has finished a chunk, and report what is finished and first in order."""
        self._hear([driver for driver in self._drivers if driver.under_way])
        while self._given and (number := next(iter(self._given))) in self._done:
            self._report(number)
        self._raise_failure()

    def _hear(self, drivers: Sequence[Driver]) -> None:
        pending = [driver.finishing() for driver in drivers]
        wait(pending, return_when=FIRST_COMPLETED)
        found = [driver.finished() for driver in drivers]
        self._done |= {job.chunk.number for job in found if job is not None}

    def _report(self, number: int) -> None:
        # Who raises an error is not called again.
        self._is_heard = False
        self._finished(self._given.pop(number))
        self._is_heard = True

    def _raise_failure(self) -> None:
        for driver in self._drivers:
            if driver.error is not None:
                raise driver.error

    def _error_after(self, raised: Exception) -> BaseException:
        """Have the devices finish what they have, report it, and return the error of the earliest chunk."""
        if isinstance(raised, Cancelled) or not isinstance(raised, EngineError) or not self._is_heard:
            return raised
        while busy := [driver for driver in self._drivers if driver.under_way and driver.error is None]:
            self._hear(busy)
        for number in [number for number in self._given if number in self._done]:
            self._report(number)
        failed = [driver for driver in self._drivers if driver.error is not None]
        # A device's chunk was made before the job that failed.
        failed.sort(key=lambda driver: driver.under_way[0].chunk.number if driver.under_way else 0)
        return failed[0].error or raised if failed else raised

    def spans(self) -> tuple[Span, ...]:
        """Return where each chunk was, by the clock of the device that was ready first; after `run`."""
        devices, found = [driver.device for driver in self._drivers], []
        zero_s = min(device.begin_s for device in devices)
        for device in devices:
            later_ms = 1e3 * (device.begin_s - zero_s)
            found += [
                replace(span, begin_ms=span.begin_ms + later_ms, end_ms=span.end_ms + later_ms)
                for span in device.spans
            ]
        return tuple(sorted(found, key=lambda span: (span.chunk, _ORDER[span.queue])))
