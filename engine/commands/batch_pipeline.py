"""Many files, one after the other: some threads open what comes next, others verify and save what is done.

The calling thread filters. On a GPU all pictures go through one stream (`engine.filter_stream`), so that copies run
beside kernels; elsewhere each is filtered by itself. A file that fails is left out with its reason, and the others go on.
"""

import argparse
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain

import numpy as np

from engine.api.filtering import Request
from engine.commands.batch_files import Task
from engine.commands.batch_steps import Finished, Job, Opened, look_up, open_task, verify_and_save
from engine.device.core_count import cores
from engine.device_info import AUTO
from engine.errors import DeviceFault, EngineError
from engine.mask.mask import Mask
from engine.streams.filtering import filter_stream

MOST_THREADS = 8
# Decoded pictures that wait, before and after the filter, may have about this much each.
WAITING_BYTES = 1 << 30


class Batch:
    """The files of one command.

    Parameters
    ----------
    options : argparse.Namespace
        Those of `add_filter_options`.
    mask : Mask
    tasks : sequence of Task
    on_finished : callable of Finished
        Called for each file once it is saved or has failed. Called on: the calling thread.

    Attributes
    ----------
    variants : list of str
        Keys of the variants that ran.
    devices : list of str
        Titles of the devices that they ran on.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        mask: Mask,
        tasks: Sequence[Task],
        on_finished: Callable[[Finished], None],
    ) -> None:
        self.variants: list[str] = []
        self.devices: list[str] = []
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

        Raises
        ------
        DeviceFault
            The device was lost: what was not saved before has not been filtered.
        KeyboardInterrupt
            What was filtered by then has been saved and told of.
        """
        try:
            jobs = self._jobs()
            first = next(jobs, None)
            if first is not None and self._is_for_stream(first.request):
                self._stream(first, jobs)
            elif first is not None:
                for job in chain((first,), jobs):
                    self._filter_alone(job)
            self._settle_all()
        except (DeviceFault, KeyboardInterrupt):
            self._settle_all()
            raise
        finally:
            self._readers.shutdown(wait=True, cancel_futures=True)
            self._savers.shutdown(wait=True, cancel_futures=True)

    def _is_for_stream(self, request: Request) -> bool:
        """Return whether there are copies to overlap, and no variant that a large picture in bands is refused to."""
        is_gpu = request.device.kind == "cuda" and request.device.times_mean_speed
        return is_gpu and (self._options.variant == AUTO or request.choice.variant.band_invariant)

    def _stream(self, first: Job, jobs: Iterator[Job]) -> None:
        options = self._options
        under_way: deque[Job] = deque()

        def pictures(begin: Job) -> Iterator[np.ndarray]:
            for job in chain((begin,), jobs):
                under_way.append(job)
                yield job.request.samples.reshape(job.request.shape)

        begin: Job | None = first
        while begin is not None:
            self._note(first.request.device.title, self.devices)
            try:
                streamed = filter_stream(
                    pictures(begin),
                    self._mask,
                    border=options.border,
                    cval=options.cval,
                    variant=options.variant,
                    block=options.block,
                    device=options.device,
                    flip=options.flip,
                    layout=options.layout,
                    result=options.result_type,
                    receive=lambda _, values: self._hand_over(under_way.popleft(), values),
                )
                for key in streamed.timeline.variant.split(", "):
                    self._note(key, self.variants)
            except DeviceFault:
                raise
            except (EngineError, MemoryError):
                # One of them could not be done (its size and the device's memory, say); by itself each says its reason.
                while under_way:
                    self._filter_alone(under_way.popleft())
            begin = next(jobs, None)

    def _filter_alone(self, job: Job) -> None:
        self._note(job.request.device.title, self.devices)
        self._note(job.request.choice.variant.key, self.variants)
        try:
            values = job.request.filter()
        except DeviceFault:
            raise
        except (EngineError, MemoryError) as error:
            self._on_finished(Finished(job.opened.task, _in_words(error)))
        else:
            self._hand_over(job, values)

    def _jobs(self) -> Iterator[Job]:
        """Yield the pictures that can be filtered; of the others say why not."""
        for opened in self._opened():
            try:
                job = look_up(self._options, self._mask, opened)
            except DeviceFault:
                raise
            except EngineError as error:
                self._on_finished(Finished(opened.task, error))
            else:
                yield job

    def _opened(self) -> Iterator[Opened]:
        """Yield the pictures in order, some opened ahead."""
        waiting: deque[tuple[Task, Future[Opened]]] = deque()
        tasks = iter(self._tasks)
        is_more = True
        while is_more or waiting:
            while is_more and len(waiting) < self._most_waiting():
                task = next(tasks, None)
                is_more = task is not None
                if task is not None:
                    waiting.append((task, self._readers.submit(open_task, self._options, task)))
            if waiting:
                task, future = waiting.popleft()
                try:
                    opened = future.result()
                except (EngineError, MemoryError) as error:
                    self._on_finished(Finished(task, _in_words(error)))
                else:
                    self._largest_bytes = max(self._largest_bytes, opened.picture.pixels.nbytes)
                    yield opened

    def _most_waiting(self) -> int:
        return max(1, min(self._threads, WAITING_BYTES // self._largest_bytes))

    def _hand_over(self, job: Job, values: np.ndarray) -> None:
        # Results are float32 where the pictures may be of 8 bit.
        self._largest_bytes = max(self._largest_bytes, values.nbytes)
        self._saving.append(
            (job.opened.task, self._savers.submit(verify_and_save, self._options, job, values))
        )
        while len(self._saving) > self._most_waiting():
            self._settle_oldest()

    def _settle_all(self) -> None:
        while self._saving:
            self._settle_oldest()

    def _settle_oldest(self) -> None:
        task, future = self._saving[0]
        try:
            finished = future.result()
        except (EngineError, MemoryError) as error:
            finished = Finished(task, _in_words(error))
        self._saving.popleft()
        self._on_finished(finished)

    @staticmethod
    def _note(word: str, words: list[str]) -> None:
        if word not in words:
            words.append(word)


def _in_words(error: Exception) -> EngineError:
    if isinstance(error, EngineError):
        return error
    return EngineError("Not enough memory", "the system gave no more", "Use a smaller picture.")
