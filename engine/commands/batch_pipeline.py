"""Many files, one after the other: some threads open what comes next, others verify and save what is done.

The calling thread filters. On a GPU all pictures go through one stream (`engine.filter_stream`), so that
copies run beside kernels; elsewhere each is filtered alone. A file that fails is left out with its reason,
and the others are filtered.
"""

import argparse
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from engine.api.filtering import Request
from engine.commands.batch_files import Task
from engine.commands.filter_options import filter_arguments
from engine.commands.filter_steps import Opened, finished_result, open_for, request_for
from engine.device.core_count import cores
from engine.device_info import AUTO
from engine.errors import DeviceFault, EngineError, VerificationFailed
from engine.files.output_checks import make_folder
from engine.image.save import save_image
from engine.mask.mask import Mask
from engine.run.device_choice import refuse_unsuitable
from engine.streams.filtering import filter_stream
from engine.tasks.filtering.agreement import verify
from engine.tasks.filtering.task import refuse_strange_samples
from engine.verify.verification import Verification

MOST_THREADS = 8
# About how much the decoded pictures that wait before the filter may have, and those after it.
WAITING_BYTES = 1 << 30
# Multiply-adds that the oracle may spend on a picture: 40 ms on one core. Every pixel of a photograph would
# take longer than all else together; of a larger one it checks the edges and spread rectangles.
AFFORDABLE_MULTIPLY_ADDS = 20_000_000


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one file: why there is no result, or its notes and, if checked, its verification."""

    task: Task
    error: EngineError | None = None
    notes: tuple[str, ...] = ()
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A picture that can be filtered."""

    task: Task
    opened: Opened
    request: Request


class Batch:
    """The files of one command.

    `on_finished` is called for each file once it is saved or has failed, on the calling thread. `variants`
    and `devices` have the keys of the variants that ran, and the titles of their devices, in order.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        mask: Mask,
        tasks: Sequence[Task],
        on_finished: Callable[[Finished], None],
    ) -> None:
        self.variants: dict[str, None] = {}
        self.devices: dict[str, None] = {}
        self._options = options
        self._mask = mask
        self._tasks = tasks
        self._on_finished = on_finished
        self._threads = min(MOST_THREADS, cores())
        self._readers = ThreadPoolExecutor(self._threads, thread_name_prefix="batch-open")
        self._savers = ThreadPoolExecutor(self._threads, thread_name_prefix="batch-save")
        self._saving: deque[tuple[Task, Future[Finished]]] = deque()
        self._largest_bytes = 1

    def run(self) -> None:
        """Filter every file.

        A DeviceFault or KeyboardInterrupt passes when all that was filtered before is saved and reported.
        """
        try:
            jobs = self._jobs()
            first = next(jobs, None)
            if first is not None and self._is_for_stream(first.request):
                self._stream(first, jobs)
            elif first is not None:
                for job in chain((first,), jobs):
                    self._filter_alone(job)
            self._settle(0)
        except (DeviceFault, KeyboardInterrupt):
            self._settle(0)
            raise
        finally:
            self._readers.shutdown(wait=True, cancel_futures=True)
            self._savers.shutdown(wait=True, cancel_futures=True)

    def _is_for_stream(self, request: Request) -> bool:
        """Return whether copies can overlap kernels, and the variant takes a large picture in bands."""
        takes_bands = self._options.variant == AUTO or request.choice.variant.band_invariant
        return request.device.is_usable_gpu and takes_bands

    def _stream(self, first: Job, jobs: Iterator[Job]) -> None:
        under_way: deque[Job] = deque()

        def pictures(begin: Job) -> Iterator[np.ndarray]:
            for job in chain((begin,), jobs):
                under_way.append(job)
                yield job.request.samples.reshape(job.request.shape)

        begin: Job | None = first
        while begin is not None:
            self.devices[first.request.device.title] = None
            try:
                streamed = filter_stream(
                    pictures(begin),
                    self._mask,
                    variant=self._options.variant,
                    **filter_arguments(self._options),
                    receive=lambda _, values: self._hand_over(under_way.popleft(), values),
                )
                self.variants |= dict.fromkeys(streamed.timeline.variant.split(", "))
            except DeviceFault:
                raise
            except (EngineError, MemoryError):
                # One failed (for its size, say): filtered alone, each succeeds or gives its reason.
                while under_way:
                    self._filter_alone(under_way.popleft())
            begin = next(jobs, None)

    def _filter_alone(self, job: Job) -> None:
        self.devices[job.request.device.title] = None
        self.variants[job.request.choice.variant.key] = None
        try:
            values = job.request.filter()
        except DeviceFault:
            raise
        except (EngineError, MemoryError) as error:
            self._on_finished(Finished(job.task, _as_engine_error(error)))
        else:
            self._hand_over(job, values)

    def _jobs(self) -> Iterator[Job]:
        """Yield the pictures that can be filtered, in order, some opened ahead; report the others."""
        waiting: deque[tuple[Task, Future[Opened]]] = deque()
        tasks = iter(self._tasks)
        while True:
            for task in islice(tasks, max(0, self._most_waiting() - len(waiting))):
                waiting.append((task, self._readers.submit(open_task, self._options, task)))
            if not waiting:
                return
            task, future = waiting.popleft()
            try:
                opened = future.result()
                self._largest_bytes = max(self._largest_bytes, opened.picture.pixels.nbytes)
                job = look_up(self._options, self._mask, task, opened)
            except DeviceFault:
                raise
            except (EngineError, MemoryError) as error:
                self._on_finished(Finished(task, _as_engine_error(error)))
            else:
                yield job

    def _most_waiting(self) -> int:
        return max(1, min(self._threads, WAITING_BYTES // self._largest_bytes))

    def _hand_over(self, job: Job, values: np.ndarray) -> None:
        # Results are float32 where the pictures may be of 8 bit.
        self._largest_bytes = max(self._largest_bytes, values.nbytes)
        self._saving.append((job.task, self._savers.submit(verify_and_save, self._options, job, values)))
        self._settle(self._most_waiting())

    def _settle(self, most_waiting: int) -> None:
        """Report the oldest results until at most `most_waiting` are still being saved."""
        while len(self._saving) > most_waiting:
            task, future = self._saving[0]
            try:
                finished = future.result()
            except (EngineError, MemoryError) as error:
                finished = Finished(task, _as_engine_error(error))
            self._saving.popleft()
            self._on_finished(finished)


def open_task(options: argparse.Namespace, task: Task) -> Opened:
    """Open a picture and check that its result can be saved. Called on: any thread."""
    if task.refusal is not None:
        raise task.refusal
    return open_for(options, task.source, task.target)


def look_up(options: argparse.Namespace, mask: Mask, task: Task, opened: Opened) -> Job:
    """Return the job of a picture that the variant can filter; raise an EngineError where it cannot."""
    request = request_for(options, mask, opened.picture)
    choice = request.choice
    refuse_unsuitable(choice.variant, request.problem, request.mask, choice.block, request.device)
    refuse_strange_samples(choice.variant, request.samples)
    return Job(task, opened, request)


def verify_and_save(options: argparse.Namespace, job: Job, values: np.ndarray) -> Finished:
    """Verify a result and save it. Called on: any thread."""
    target = job.task.target
    verification = _verified(job, values) if options.verify else None
    finished, lost = finished_result(options, job.opened, values)
    make_folder(os.path.dirname(target) or ".", with_parents=True)
    left_out = save_image(finished, target, quality=options.quality)
    return Finished(job.task, None, (*job.opened.picture.notes, *lost, *left_out), verification)


def _verified(job: Job, values: np.ndarray) -> Verification:
    request, variant = job.request, job.request.choice.variant
    verification = verify(
        values.reshape(request.samples.shape),
        request.samples,
        request.mask,
        request.problem,
        # Other rectangles in each picture.
        seed=zlib.crc32(job.task.source.encode(errors="surrogateescape")),
        affordable=AFFORDABLE_MULTIPLY_ADDS,
        added_error=variant.added_error(request.problem, request.mask),
    )
    if not verification.passed:
        what = f"The result of '{variant.key}'"
        raise VerificationFailed(what, verification.reason, "Choose another variant.")
    return verification


def _as_engine_error(error: Exception) -> EngineError:
    if isinstance(error, EngineError):
        return error
    return EngineError("Not enough memory", "the system gave no more", "Use a smaller picture.")
