"""The loop of a batch: files under way, saved and reported in order; one that fails has a reason instead.

A source (`batch_sources`) filters them, and hands each over when it is begun or filtered. One more thread
writes, which is mostly waiting for the disk.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore, Event
from typing import Any, NamedTuple, TypeVar

from engine import interrupts
from engine.commands.batch_files import PictureFile, why_not_new
from engine.commands.batch_watch import watched
from engine.device.core_count import cores
from engine.errors import DeviceFault, EngineError
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import make_folder
from engine.shortages import shortage_of
from engine.verify.verification import Verification
from engine.work.filtering.clipping import Clipped

T = TypeVar("T")

# Files that are encoded and wait to be written.
MOST_ENCODED = 2
# How long Python may keep a worker waiting that comes back from compiled code. 40 pictures of 12 megapixels
# on 16 cores take 0.93 s, and 1.03 with Python's own 5 ms.
SWITCH_S = 0.0005


class Ran(NamedTuple):
    """What filtered a file elsewhere: key of the variant, title of the device, name of the machine."""

    variant: str
    device: str
    machine: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one file: why there is no result, or its notes and, if checked, its verification."""

    file: PictureFile
    error: EngineError | None = None
    notes: tuple[str, ...] = ()
    verification: Verification | None = None
    found: Mapping[str, object] = field(default_factory=dict)  # by an operation, for JSON
    clipped: Clipped | None = None  # how much of the result is, where some can be
    ran: Ran | None = None  # where a cluster filtered it


Saving = Future[Finished]


class Loop:
    """The files under way, oldest first, and the threads that they are on.

    `on_finished` is called for each file once it is saved or has failed, on the calling thread, in order; a
    source may report one that cannot be filtered before the others. `variants` and `devices` have the keys of
    the variants that ran, and the titles of their devices; `written` counts the files, `is_stopped` says
    whether `stop` was called, which calls each of `when_stopped`. `start_s` is what a cluster took to start.
    """

    def __init__(self, files: int, on_finished: Callable[[Finished], None]) -> None:
        self.variants: dict[str, None] = {}
        self.devices: dict[str, None] = {}
        self.written = 0
        self.is_stopped = False
        self.when_stopped: list[Callable[[], object]] = []
        self.start_s = 0.0
        self.threads = max(1, min(cores(), files))
        self._on_finished = on_finished
        self._workers = ThreadPoolExecutor(self.threads, thread_name_prefix="batch")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="batch-write")
        self._encoded = BoundedSemaphore(MOST_ENCODED)
        self._has_ended = Event()
        # What is not reported yet, oldest first.
        self._saving: deque[tuple[PictureFile, Future[Saving]]] = deque()

    def run(self, source: Callable[["Loop"], None]) -> None:
        """Have a source filter every file, and hand each over.

        A DeviceFault passes when all that was filtered before is saved and reported.
        """
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            source(self)
            self.finish()
        except DeviceFault:
            # Workers begin nothing more, and end what is not in its filter yet.
            self._has_ended.set()
            while self._saving:
                with suppress(DeviceFault):
                    self._settle(0)
            raise
        finally:
            self._has_ended.set()
            self._workers.shutdown(wait=True, cancel_futures=True)
            self._writer.shutdown(wait=True)
            sys.setswitchinterval(switch_s)

    def stop(self) -> None:
        """Begin nothing more, and end what is not in its filter yet; called again, end the process at once.

        Called on: any thread.
        """
        if self.is_stopped:
            interrupts.leave()
        self.is_stopped = True
        self._has_ended.set()
        for act in self.when_stopped:
            act()

    def finish(self) -> None:
        """Report every file that is under way."""
        self._settle(0)

    def submit(self, step: Callable[..., T], *given: object) -> Future[T]:
        """Have a step done on a worker."""
        return self._workers.submit(step, *given)

    def hand_over(self, file: PictureFile, saving: Future[Saving], most: int) -> None:
        """Take a file that is under way, and wait until at most so many are."""
        self._saving.append((file, saving))
        self._settle(most)

    def save(self, data: bytes | memoryview, finished: Finished) -> Saving:
        """Have a file written. Called on: a worker."""
        self._encoded.acquire()
        saving = self._writer.submit(self._write, data, finished)
        saving.add_done_callback(lambda _: self._encoded.release())
        return saving

    def _write(self, data: bytes | memoryview, finished: Finished) -> Finished:
        # The count is true where the process is ended.
        with interrupts.undivided():
            # A process that has ended may have written it, and not said so.
            write_result(data, finished.file, may_be_there=watched().plan is not None)
            self.written += 1
        return finished

    def note_written(self, finished: Finished) -> None:
        """Count a file that another machine has written. Called on: any thread."""
        self.written += 1
        if finished.ran is not None:
            self.variants[finished.ran.variant] = None
            self.devices[finished.ran.device] = None

    def attempt(self, file: PictureFile, step: Callable[..., T], *given: object) -> T | None:
        """Return what a step returns; report its file where it fails, and return None."""
        try:
            return step(*given)
        except DeviceFault:
            raise
        except (EngineError, MemoryError) as error:
            why = error if isinstance(error, EngineError) else shortage_of(error)
            self._on_finished(Finished(file, why))
            return None

    def note_what_runs(self, call: Any) -> None:
        """Remember variant and device of a call of `engine.api`."""
        self.devices[call.device.title] = None
        self.variants[call.choice.variant.key] = None

    def end_if_stopped(self) -> None:
        """Raise CancelledError where the batch ends early. Called on: a worker."""
        if self._has_ended.is_set():
            raise CancelledError

    def _settle(self, most: int) -> None:
        """Report the oldest files until at most so many are still under way."""
        while len(self._saving) > most:
            file, future = self._saving.popleft()
            # A worker cancels its file when it finds that the batch has ended.
            with suppress(CancelledError):
                finished = self.attempt(file, _saved, future)
                if finished is not None:
                    self._on_finished(finished)


def write_result(data: bytes | memoryview, file: PictureFile, *, may_be_there: bool = False) -> None:
    """Write a result whole, or not at all.

    `may_be_there` says that the very same result may have been written before, which is left as it is.
    """
    make_folder(os.path.dirname(file.target) or ".", with_parents=True)
    # Asked again: another program may have written it since the batch began, hours ago.
    if not file.replaces and (why_not := why_not_new(file.target)):
        if may_be_there and Path(file.target).read_bytes() == data:
            return
        raise why_not
    atomic_write(file.target, data)


def _saved(saving: Future[Saving]) -> Finished:
    return saving.result().result()
