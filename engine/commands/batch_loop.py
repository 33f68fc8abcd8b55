"""The flow of a batch: files are opened, computed, proven, encoded, written, and reported in order.

On the CPU there is a worker per core, and each takes one file all the way. So no core waits for another
stage, and a filter has one core, as the others have work of their own.

On another device the calling thread has the pictures computed, all in one stream, so that copies run beside
kernels, on all GPUs with `cuda:all`. The workers open what comes next, and verify and encode what is done.

Pictures that are larger than memory come after all others, each with all cores and the memory for itself. One
more thread writes, which is mostly waiting for the disk. A file that fails has a reason instead of a result.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from threading import BoundedSemaphore, Event
from typing import Any, TypeVar

import numpy as np

from engine import interrupts
from engine.commands.batch_files import PictureFile, why_not_new
from engine.commands.batch_picture import Finished, Job, job_for, open_file
from engine.commands.batch_plan import BatchPlan
from engine.commands.batch_watch import say_begun, watched
from engine.commands.picture_opening import Opened
from engine.commands.picture_work import PictureWork
from engine.device.core_count import cores, launches_on
from engine.device_info import titles
from engine.errors import DeviceFault, EngineError
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import make_folder
from engine.flow.picture_memory import MOST_KEPT_BYTES, Loan, PictureMemory
from engine.flow.plan import Plan
from engine.flow.stream import Stream
from engine.shortages import shortage_of

T = TypeVar("T")

# Files that are encoded and wait to be written.
MOST_ENCODED = 2
# How long Python may keep a worker waiting that comes back from compiled code. 40 pictures of 12 megapixels
# on 16 cores take 0.93 s, and 1.03 with Python's own 5 ms.
SWITCH_S = 0.0005


Saving = Future[Finished]

# What the pictures under way may take together, and at least for each core: one of 12 megapixels with float32
# results takes 216 MB. On a GPU about what those that wait before the filter may have, and those after it.
MOST_BYTES = 4 << 30
MOST_BYTES_PER_CORE = 256 << 20
WAITING_BYTES = 1 << 30


class Loop:
    """The files under way, oldest first, and the threads that they are on.

    `on_finished` is called for each file once it is saved or has failed, on the calling thread, in order; one
    that cannot be opened may be reported before the others. `variants` and `devices` have the keys of
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
        self._largest_bytes = 1
        self.threads = max(1, min(cores(), files))
        self._on_finished = on_finished
        self._workers = ThreadPoolExecutor(self.threads, thread_name_prefix="batch")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="batch-write")
        self._encoded = BoundedSemaphore(MOST_ENCODED)
        self._has_ended = Event()
        # What is not reported yet, oldest first.
        self._saving: deque[tuple[PictureFile, Future[Saving]]] = deque()

    def run(self, plan: BatchPlan, on_cluster: Callable[[BatchPlan], Any]) -> None:
        """Have every file filtered, and report it; `on_cluster` makes what asks the workers of a cluster.

        A DeviceFault passes when all that was filtered before is saved and reported.
        """
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        small = replace(plan, files=[file for file in plan.files if not file.in_parts])
        try:
            if plan.scheduler is not None:
                on_cluster(small).run(self)
            elif plan.device.kind == "cpu" and not plan.device.is_usable_gpu:
                self.on_workers(small)
            else:
                self.in_stream(small)
            for file in plan.files:
                if file.in_parts and not self.is_stopped:
                    self._settle(0)
                    finished = self.attempt(file, self._in_bands, plan.how, file)
                    if finished is not None:
                        self._on_finished(finished)
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

    def on_workers(self, plan: BatchPlan) -> None:
        """Have files taken all the way by workers, with enough under way that none waits for the oldest."""
        memory = PictureMemory(max(MOST_BYTES, MOST_BYTES_PER_CORE * self.threads), MOST_KEPT_BYTES)
        for file in plan.files:
            if self.is_stopped:
                return
            done = self.submit(self._all_the_way, plan.how, file, Loan(memory))
            self.hand_over(file, done, 2 * self.threads)

    def _all_the_way(self, how: PictureWork, file: PictureFile, loan: Loan) -> Saving:
        """Take a file all the way until it can be written. Called on: a worker."""
        try:
            self.end_if_stopped()
            opened = open_file(how, file, loan)
            job = job_for(how, file, opened, loan)
            self.end_if_stopped()
            self.note_what_runs(job.call)
            with launches_on(cores() // self.threads):
                data, finished = job.filtered_and_encoded()
            return self.save(data, finished)
        finally:
            loan.give_back()

    def in_stream(self, plan: BatchPlan) -> None:
        """Send pictures through a stream. Where one breaks it off, those under way are computed alone."""
        jobs = self._opened(plan)
        for first in jobs:
            under_way: deque[Job] = deque()

            def plans(first: Job = first, under_way: deque[Job] = under_way) -> Iterator[Plan]:
                for job in chain((first,), jobs):
                    under_way.append(job)
                    yield Plan.of(job.call)

            def receive(number: int, values: np.ndarray, under_way: deque[Job] = under_way) -> None:
                self._have_saved(under_way.popleft(), values)

            how, rooms = plan.how, _Rooms(under_way)
            stream = Stream(layout=how.asked.layout, outputs=rooms, receive=receive, gpus=how.gpus)
            self.devices |= dict.fromkeys(titles(how.devices(first.call)))
            try:
                timeline = stream.run(plans())
                self.variants |= dict.fromkeys(timeline.variant.split(", "))
            except DeviceFault:
                raise
            except (EngineError, MemoryError):
                while under_way:
                    self._alone(under_way.popleft())

    def _opened(self, plan: BatchPlan) -> Iterator[Job]:
        """Yield the pictures that can be computed, in order; report the others."""
        # The calling thread waits for the oldest picture, which must not wait for those after it.
        memory = PictureMemory(None, MOST_KEPT_BYTES)
        waiting: deque[tuple[PictureFile, Loan, Future[Opened]]] = deque()
        files = iter(plan.files)
        while not self.is_stopped:
            for file in islice(files, max(0, self._most_waiting() - len(waiting))):
                loan = Loan(memory)
                waiting.append((file, loan, self.submit(open_file, plan.how, file, loan)))
            if not waiting:
                return
            file, loan, future = waiting.popleft()
            job = self.attempt(file, self._job, plan.how, file, loan, future)
            if job is None:
                loan.give_back()
            else:
                yield job

    def _job(self, how: PictureWork, file: PictureFile, loan: Loan, future: Future[Opened]) -> Job:
        opened = future.result()
        self._largest_bytes = max(self._largest_bytes, opened.picture.pixels.nbytes)
        return job_for(how, file, opened, loan)

    def _alone(self, job: Job) -> None:
        self.note_what_runs(job.call)
        values = self.attempt(job.file, job.filtered)
        if values is None:
            job.loan.give_back()
        else:
            self._have_saved(job, values)

    def _have_saved(self, job: Job, values: np.ndarray) -> None:
        # Results are float32 where the pictures may be of 8 bit.
        self._largest_bytes = max(self._largest_bytes, values.nbytes)
        self.hand_over(job.file, self.submit(self._proven, job, values), self._most_waiting())

    def _proven(self, job: Job, values: np.ndarray) -> Saving:
        """Have a result verified and encoded, until it can be written. Called on: a worker."""
        try:
            return self.save(*job.verified_and_encoded(values))
        finally:
            job.loan.give_back()

    def _most_waiting(self) -> int:
        return max(1, min(self.threads, WAITING_BYTES // self._largest_bytes))

    def _in_bands(self, how: PictureWork, file: PictureFile) -> Finished:
        """Filter a picture that is larger than memory."""
        if file.refusal is not None:
            raise file.refusal
        say_begun(file.source)
        # Loaded only with such a picture.
        in_bands: Any = import_module("engine.commands.in_bands")

        make_folder(os.path.dirname(file.target) or ".", with_parents=True)
        if not file.replaces and (why_not := why_not_new(file.target)):
            raise why_not
        done = in_bands.filtered(how, file.source, file.target, self.end_if_stopped)
        with interrupts.undivided():
            self.written += 1
        self.devices |= dict.fromkeys(titles(done.devices))
        self.variants[done.resolved.choice.variant.key] = None
        facts = in_bands.facts_of(how, done)
        return Finished(file, None, done.notes, done.verification, facts, clipped=done.clipped)

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

    def report(self, finished: Finished) -> None:
        """Report a file that a worker of a cluster is done with."""
        if finished.error is None:
            self.written += 1
        if finished.ran is not None:
            self.variants[finished.ran.variant] = None
            self.devices[finished.ran.device] = None
        self._on_finished(finished)

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


class _Rooms:
    """Memory for the results of a stream: that of the picture that was taken last."""

    def __init__(self, under_way: deque[Job]) -> None:
        self._under_way = under_way

    def take(self, request: object, number: int) -> np.ndarray:
        """Return the array for the next result."""
        return self._under_way[-1].room()

    def leave(self, array: np.ndarray) -> None:
        """Do nothing: it is saved first."""


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
