"""The source of a batch over a cluster: each file goes all the way on a worker, from reading to writing.

What is done with a file, and which variant does it, is what this machine would do: `auto` counts this
machine's cores wherever the file is filtered. A worker filters a file on one core, as it does one on each of
its threads. Files go several to a task, because a task takes some milliseconds of the scheduler and of this
process; a worker writes one while it opens the next.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from engine.cluster.connection import connected
from engine.cluster.executor import ClusterExecutor
from engine.cluster.worker import WorkerFault, fault_here, machine_name, memory_limit
from engine.commands.batch_files import PictureFile
from engine.commands.batch_loop import Loop, Saving, write_result
from engine.commands.batch_memory import MOST_KEPT_BYTES, Loan, PictureMemory
from engine.commands.batch_picture import Finished, Ran, job_for, open_file
from engine.commands.batch_plan import BatchPlan
from engine.commands.output import log_notes
from engine.commands.picture_filter import AnyFilter
from engine.device.core_count import cores, launches_on
from engine.device.device_list import cpu_chosen_as
from engine.errors import EngineError
from engine.files.part_files import part_file
from engine.image.budget import RAISE_LIMIT, bytes_text

# Files to a task, at most, and what they take together, at least: a task takes this process and the scheduler
# 20 ms, half of what a photo of 1024 x 768 takes a worker. Files for each thread of the workers that are sent
# and not reported yet.
MOST_FILES = 32
MOST_TASK_BYTES = 32 << 20
FILES_AHEAD = 96
# What a worker needs beside its pictures; what Dask leaves to a worker before it ends it.
_BASE_BYTES = 256 << 20
_LEFT_BY_DASK = 0.9


class OnCluster:
    """Each file all the way on a worker of a cluster."""

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan

    def run(self, loop: Loop) -> None:
        """Have the files filtered, enough at a time that no worker waits for the next."""
        assert self._plan.scheduler is not None
        with connected(self._plan.scheduler) as cluster, _sign_in(self._plan.out) as (sign, take_down):
            executor = ClusterExecutor(cluster, lambda note: log_notes([note]))
            loop.start_s = cluster.start_s

            def stop() -> None:
                executor.end()
                take_down()

            loop.when_stopped.append(stop)
            way = WholeWay(self._plan.how, sign, cores())
            try:
                for files in _tasks(self._plan.files, cluster.threads):
                    if loop.is_stopped:
                        break
                    self._submit(loop, executor, way, files, FILES_AHEAD * cluster.threads)
                loop.finish()
            finally:
                executor.shutdown()

    def _submit(
        self, loop: Loop, executor: ClusterExecutor, way: "WholeWay", files: list[PictureFile], most: int
    ) -> None:
        sent = iter(executor.submit_each(way, [_anywhere(file) for file in files if file.refusal is None]))
        for file in files:
            saving: Future[Saving] = Future()
            if file.refusal is not None:
                saving.set_exception(file.refusal)
            else:
                next(sent).add_done_callback(partial(_receive, loop, file, saving))
            loop.hand_over(file, saving, most)


def _anywhere(file: PictureFile) -> PictureFile:
    """Return a file under the names that it has in every folder where a worker may have been started."""
    return replace(file, source=os.path.abspath(file.source), target=os.path.abspath(file.target))


def _receive(loop: Loop, file: PictureFile, saving: Future[Saving], done: Future[Finished]) -> None:
    """Settle a file by what a worker says of it. Called on: a thread of Dask's client."""
    try:
        finished = done.result()
    except CancelledError:
        saving.cancel()
    except Exception as error:  # noqa: BLE001 - the loop reports it
        saving.set_exception(error)
    else:
        loop.written += 1
        if finished.ran is not None:
            loop.variants[finished.ran.variant] = None
            loop.devices[finished.ran.device] = None
        saved: Saving = Future()
        # The worker's copy of the file is another object.
        saved.set_result(replace(finished, file=file))
        saving.set_result(saved)


def _tasks(files: Sequence[PictureFile], threads: int) -> Iterator[list[PictureFile]]:
    """Yield the files of each task: fewer to the end, so that all workers end together."""
    task: list[PictureFile] = []
    task_bytes = 0
    for number, file in enumerate(files):
        task.append(file)
        task_bytes += _size_bytes(file.source)
        left = len(files) - number - 1
        if len(task) >= min(MOST_FILES, -(-left // (2 * threads))) or task_bytes >= MOST_TASK_BYTES:
            yield task
            task, task_bytes = [], 0


def _size_bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


@contextmanager
def _sign_in(folder: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Put a file into the folder for the results by which workers know it; yield it, and what removes it.

    A worker that does not see it would write to a disk of its own. When it is gone, the batch has ended.
    """
    # What a killed process leaves of it is removed by the next one (`engine.files.part_files`).
    file = part_file(Path(folder or "."))

    def take_down() -> None:
        with suppress(OSError):
            os.unlink(file.name)

    try:
        yield os.path.abspath(file.name), take_down
    finally:
        take_down()
        with suppress(OSError):
            file.close()


@dataclass(frozen=True)
class WholeWay:
    """What a worker does with a file.

    `sign` is seen where the results' folder is; `cores` are those of the machine that asks, by which `auto`
    chooses.
    """

    how: AnyFilter
    sign: str
    cores: int

    def __call__(self, file: PictureFile) -> "Future[Finished]":
        """Take a file all the way; what is returned ends when its result is written. Called on: a worker."""
        if not os.path.exists(self.sign):
            raise _unseen(os.path.dirname(self.sign))
        if not os.path.exists(file.source):
            raise _unseen(file.source)
        how, remedy = self._within(memory_limit())
        loan = Loan(_memory())
        try:
            with cpu_chosen_as(self.cores), launches_on(1):
                job = job_for(how, file, open_file(how, file, loan, remedy), loan)
                data, finished = job.filtered_and_encoded()
        finally:
            loan.give_back()
        ran = Ran(job.call.choice.variant.key, job.call.device.title, machine_name())
        return _writer().submit(_written, data, replace(finished, ran=ran))

    def _within(self, limit_bytes: int | None) -> tuple[AnyFilter, str]:
        """Return what is done within the worker's memory, and what helps where a picture needs more."""
        asked = self.how.settings
        if limit_bytes is None or (most := int(limit_bytes * _LEFT_BY_DASK) - _BASE_BYTES) >= asked.max_bytes:
            return self.how, RAISE_LIMIT
        remedy = (
            f"Give the workers more memory: this one on {machine_name()} has {bytes_text(limit_bytes)} "
            "for each of its threads."
        )
        return self.how.asking(replace(asked, max_bytes=max(0, most))), remedy


def _written(data: bytes | memoryview, finished: Finished) -> Finished:
    # Dask may run a task again whose worker died after it wrote.
    write_result(data, finished.file, may_be_there=True)
    return finished


def _unseen(path: str) -> WorkerFault:
    what = f"{path} is not seen on {machine_name()}, where a worker runs"
    remedy = "Put it on a disk that all machines share."
    return fault_here(EngineError(what, "its disks do not have it", remedy))


@cache
def _memory() -> PictureMemory:
    """Return the memory of the pictures in this worker, whose threads each have one at a time."""
    return PictureMemory(None, MOST_KEPT_BYTES)


@cache
def _writer() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="batch-write")
