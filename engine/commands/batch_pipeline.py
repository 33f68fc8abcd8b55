"""Many files, several under way at a time; a file that fails is left out with its reason.

On the CPU there is a worker per core, and each takes one file all the way: opens, filters, verifies, encodes.
So no core waits for another stage, and a filter has one core, as the others have work of their own. One more
thread writes, which is mostly waiting for the disk.

On a GPU the calling thread filters: all pictures go through one stream (`engine.filter_stream`), so that
copies run beside kernels. The workers open what comes next, and verify and encode what is done.
"""

import argparse
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, islice
from threading import BoundedSemaphore, Event

import numpy as np

from engine import interrupts
from engine.api.filtering import Request
from engine.commands.batch_files import Task
from engine.commands.batch_memory import Loan, PictureMemory
from engine.commands.batch_steps import (
    Encoded,
    Finished,
    Job,
    failed,
    filter_and_encode,
    look_up,
    open_task,
    verify_and_encode,
    write,
)
from engine.commands.filter_options import filter_arguments
from engine.commands.opening import Opened
from engine.device.core_count import cores, launches_on
from engine.device_info import AUTO
from engine.errors import DeviceFault, EngineError
from engine.mask.mask import Mask

# What the pictures under way may take together, and at least for each core: one of 12 megapixels with float32
# results takes 216 MB. On a GPU about what those that wait before the filter may have, and those after it.
MOST_BYTES = 4 << 30
MOST_BYTES_PER_CORE = 256 << 20
WAITING_BYTES = 1 << 30
# What is kept for the next pictures.
MOST_KEPT_BYTES = 1 << 30
# Files that are encoded and wait to be written.
MOST_ENCODED = 2
# How long Python may keep a worker waiting that comes back from compiled code. 40 pictures of 12 megapixels
# on 16 cores take 0.93 s, and 1.03 with Python's own 5 ms.
SWITCH_S = 0.0005

Saving = Future[Finished]


class Batch:
    """The files of one command.

    `is_on_cpu` says where all of them are filtered. `on_finished` is called for each file once it is saved or
    has failed, on the calling thread, in order; on a GPU before the others where it cannot be filtered.
    `variants` and `devices` have the keys of the variants that ran, and the titles of their devices;
    `written` counts the files, `is_stopped` says whether `stop` was called.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        mask: Mask | None,
        tasks: Sequence[Task],
        on_finished: Callable[[Finished], None],
        *,
        is_on_cpu: bool,
    ) -> None:
        self.variants: dict[str, None] = {}
        self.devices: dict[str, None] = {}
        self.written = 0
        self.is_stopped = False
        self._options = options
        self._mask = mask
        self._tasks = tasks
        self._on_finished = on_finished
        self._is_on_cpu = is_on_cpu
        self._threads = max(1, min(cores(), len(tasks)))
        self._launch_cores = cores() // self._threads
        # On a GPU the calling thread waits for the oldest picture, which must not wait for those after it.
        most_bytes = max(MOST_BYTES, MOST_BYTES_PER_CORE * self._threads) if is_on_cpu else None
        self._memory = PictureMemory(most_bytes, MOST_KEPT_BYTES)
        self._workers = ThreadPoolExecutor(self._threads, thread_name_prefix="batch")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="batch-write")
        self._encoded = BoundedSemaphore(MOST_ENCODED)
        self._has_ended = Event()
        # What is not reported yet, oldest first.
        self._saving: deque[tuple[Task, Future[Saving]]] = deque()
        self._largest_bytes = 1

    def run(self) -> None:
        """Filter every file; a DeviceFault passes when all that was filtered before is saved and reported."""
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            if self._is_on_cpu:
                self._run_on_workers()
            else:
                self._run_on_this_thread()
            self._settle(0)
        except DeviceFault:
            self._settle_all()
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

    def _run_on_workers(self) -> None:
        for task in self._tasks:
            if self.is_stopped:
                return
            # Enough that no worker waits while the oldest file takes longer than others.
            self._settle(2 * self._threads)
            self._saving.append((task, self._workers.submit(self._whole, task)))

    def _whole(self, task: Task) -> Saving:
        """Take a file all the way until it can be written. Called on: a worker."""
        loan = Loan(self._memory)
        try:
            self._end_if_stopped()
            opened = open_task(self._options, task, loan)
            job = look_up(self._options, self._mask, task, opened, loan)
            self._end_if_stopped()
            self._note_what_runs(job)
            with launches_on(self._launch_cores):
                encoded = filter_and_encode(self._options, job)
            return self._save(encoded)
        finally:
            loan.give_back()

    def _save(self, encoded: Encoded) -> Saving:
        """Have a file written. Called on: a worker."""
        self._encoded.acquire()
        saving = self._writer.submit(self._write, encoded)
        saving.add_done_callback(lambda _: self._encoded.release())
        return saving

    def _write(self, encoded: Encoded) -> Finished:
        # The count is true where the process is ended.
        with interrupts.undivided():
            finished = write(encoded)
            self.written += 1
        return finished

    def _run_on_this_thread(self) -> None:
        jobs = self._jobs()
        first = next(jobs, None)
        if first is not None and self._is_for_stream(first.request):
            self._stream(first, jobs)
        elif first is not None:
            for job in chain((first,), jobs):
                self._filter_alone(job)

    def _is_for_stream(self, request: Request) -> bool:
        """Return whether copies can overlap kernels, and the variant takes a large picture in bands."""
        if self._mask is None:
            return False
        takes_bands = self._options.variant == AUTO or request.choice.variant.band_invariant
        return request.device.is_usable_gpu and takes_bands

    def _stream(self, first: Job, jobs: Iterator[Job]) -> None:
        from engine.streams.filtering import filter_stream

        assert self._mask is not None
        in_stream: deque[Job] = deque()
        # The first picture that the stream cannot take, as its results are of another type.
        after: list[Job] = []

        def pictures(begin: Job) -> Iterator[np.ndarray]:
            for job in chain((begin,), jobs):
                if _way(self._options, job.request) != _way(self._options, begin.request):
                    after.append(job)
                    return
                in_stream.append(job)
                yield job.request.samples.reshape(job.request.shape)

        def results() -> Iterator[np.ndarray]:
            while True:
                job = in_stream[-1]
                samples = job.request.samples.reshape(job.request.shape)
                yield job.loan.result(samples, job.request.problem.result_dtype)

        begin: Job | None = first
        while begin is not None:
            self.devices[first.request.device.title] = None
            variant, result = _way(self._options, begin.request)
            try:
                streamed = filter_stream(
                    pictures(begin),
                    self._mask,
                    variant=variant,
                    **filter_arguments(self._options) | {"result": result},
                    out=results(),
                    receive=lambda _, values: self._hand_over(in_stream.popleft(), values),
                )
                self.variants |= dict.fromkeys(streamed.timeline.variant.split(", "))
            except DeviceFault:
                raise
            except (EngineError, MemoryError):
                # One failed (for its size, say): filtered alone, each succeeds or gives its reason.
                while in_stream:
                    self._filter_alone(in_stream.popleft())
            begin = None if self.is_stopped else after.pop() if after else next(jobs, None)

    def _filter_alone(self, job: Job) -> None:
        self._note_what_runs(job)
        try:
            values = job.request.filter()
        except DeviceFault:
            raise
        except (EngineError, MemoryError) as error:
            job.loan.give_back()
            self._on_finished(failed(job.task, error))
        else:
            self._hand_over(job, values)

    def _jobs(self) -> Iterator[Job]:
        """Yield the pictures that can be filtered, in order, some opened ahead; report the others."""
        waiting: deque[tuple[Task, Loan, Future[Opened]]] = deque()
        tasks = iter(self._tasks)
        while not self.is_stopped:
            for task in islice(tasks, max(0, self._most_waiting() - len(waiting))):
                loan = Loan(self._memory)
                waiting.append((task, loan, self._workers.submit(open_task, self._options, task, loan)))
            if not waiting:
                return
            task, loan, future = waiting.popleft()
            try:
                opened = future.result()
                self._largest_bytes = max(self._largest_bytes, opened.picture.pixels.nbytes)
                job = look_up(self._options, self._mask, task, opened, loan, in_bands=True)
            except DeviceFault:
                raise
            except (EngineError, MemoryError) as error:
                loan.give_back()
                self._on_finished(failed(task, error))
            else:
                yield job

    def _most_waiting(self) -> int:
        return max(1, min(self._threads, WAITING_BYTES // self._largest_bytes))

    def _hand_over(self, job: Job, values: np.ndarray) -> None:
        # Results are float32 where the pictures may be of 8 bit.
        self._largest_bytes = max(self._largest_bytes, values.nbytes)
        self._saving.append((job.task, self._workers.submit(self._save_and_give_back, job, values)))
        self._settle(self._most_waiting())

    def _save_and_give_back(self, job: Job, values: np.ndarray) -> Saving:
        try:
            return self._save(verify_and_encode(self._options, job, values))
        finally:
            job.loan.give_back()

    def _end_if_stopped(self) -> None:
        if self._has_ended.is_set():
            raise CancelledError

    def _note_what_runs(self, job: Job) -> None:
        self.devices[job.request.device.title] = None
        self.variants[job.request.choice.variant.key] = None

    def _settle(self, most: int) -> None:
        """Report the oldest files until at most so many are still under way."""
        while len(self._saving) > most:
            task, future = self._saving.popleft()
            try:
                finished = future.result().result()
            except DeviceFault:
                raise
            except CancelledError:  # a worker found that the batch has ended
                continue
            except (EngineError, MemoryError) as error:
                finished = failed(task, error)
            self._on_finished(finished)

    def _settle_all(self) -> None:
        """Report what was filtered; workers begin nothing more, and end what is not in its filter yet."""
        self._has_ended.set()
        while self._saving:
            with suppress(DeviceFault):
                self._settle(0)


def _way(options: argparse.Namespace, request: Request) -> tuple[str, str]:
    """Return the variant and the result type that a stream needs for a picture."""
    if request.problem.is_quantised:
        # Not what `auto` would choose for such results: another variant may round otherwise.
        return request.choice.variant.key, "same"
    return options.variant, filter_arguments(options)["result"]
