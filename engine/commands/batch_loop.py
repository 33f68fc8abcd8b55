"""The loop of a batch: files under way, saved and reported in order; one that fails has a reason instead.

A source (`batch_sources`) filters them, and hands each over when it is begun or filtered. One more thread
writes, which is mostly waiting for the disk.
"""

import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from threading import BoundedSemaphore, Event
from typing import Protocol, TypeVar

from engine.commands.batch_files import PictureFile
from engine.commands.batch_steps import Encoded, Finished, Job, failed, write
from engine.device.core_count import cores
from engine.errors import DeviceFault, EngineError

T = TypeVar("T")

# Files that are encoded and wait to be written.
MOST_ENCODED = 2
# How long Python may keep a worker waiting that comes back from compiled code. 40 pictures of 12 megapixels
# on 16 cores take 0.93 s, and 1.03 with Python's own 5 ms.
SWITCH_S = 0.0005

Saving = Future[Finished]


class Source(Protocol):
    """Filters the files of a batch."""

    def run(self, loop: "Loop") -> None:
        """Filter every file, and hand each over."""


class Loop:
    """The files under way, oldest first, and the threads that they are on.

    `on_finished` is called for each file once it is saved or has failed, on the calling thread, in order; a
    source may report one that cannot be filtered before the others. `variants` and `devices` have the keys of
    the variants that ran, and the titles of their devices.
    """

    def __init__(self, files: int, on_finished: Callable[[Finished], None]) -> None:
        self.variants: dict[str, None] = {}
        self.devices: dict[str, None] = {}
        self.threads = max(1, min(cores(), files))
        self._on_finished = on_finished
        self._workers = ThreadPoolExecutor(self.threads, thread_name_prefix="batch")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="batch-write")
        self._encoded = BoundedSemaphore(MOST_ENCODED)
        self._is_stopped = Event()
        # What is not reported yet, oldest first.
        self._saving: deque[tuple[PictureFile, Future[Saving]]] = deque()

    def run(self, source: Source) -> None:
        """Filter every file.

        A DeviceFault or KeyboardInterrupt passes when all that was filtered before is saved and reported.
        """
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            source.run(self)
            self._settle(0)
        except (DeviceFault, KeyboardInterrupt):
            self._stop()
            raise
        finally:
            self._is_stopped.set()
            self._workers.shutdown(wait=True, cancel_futures=True)
            self._writer.shutdown(wait=True)
            sys.setswitchinterval(switch_s)

    def submit(self, step: Callable[..., T], *given: object) -> Future[T]:
        """Have a step done on a worker."""
        return self._workers.submit(step, *given)

    def hand_over(self, file: PictureFile, saving: Future[Saving], most: int) -> None:
        """Take a file that is under way, and wait until at most so many are."""
        self._saving.append((file, saving))
        self._settle(most)

    def save(self, encoded: Encoded) -> Saving:
        """Have a file written. Called on: a worker."""
        self._encoded.acquire()
        saving = self._writer.submit(write, encoded)
        saving.add_done_callback(lambda _: self._encoded.release())
        return saving

    def attempt(self, file: PictureFile, step: Callable[[], T]) -> T | None:
        """Return what a step returns; report its file where it fails, and return None."""
        try:
            return step()
        except DeviceFault:
            raise
        except (EngineError, MemoryError) as error:
            self._on_finished(failed(file, error))
            return None

    def note_what_runs(self, job: Job) -> None:
        """Remember variant and device."""
        self.devices[job.run.call.device.title] = None
        self.variants[job.run.call.choice.variant.key] = None

    def end_if_stopped(self) -> None:
        """Raise CancelledError where the batch ends early. Called on: a worker."""
        if self._is_stopped.is_set():
            raise CancelledError

    def _settle(self, most: int) -> None:
        """Report the oldest files until at most so many are still under way."""
        while len(self._saving) > most:
            file, future = self._saving[0]
            try:
                finished = future.result().result()
            except DeviceFault:
                raise
            except (EngineError, MemoryError) as error:
                finished = failed(file, error)
            self._saving.popleft()
            self._on_finished(finished)

    def _stop(self) -> None:
        """Report what was filtered; workers begin nothing more, and end what is not in its filter yet."""
        self._is_stopped.set()
        while self._saving:
            try:
                self._settle(len(self._saving) - 1)
            except KeyboardInterrupt:
                # One more: what workers have begun is waited for and written in any case, so it is reported.
                continue
            except (DeviceFault, CancelledError):
                self._saving.popleft()
