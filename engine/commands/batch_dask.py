"""A batch over the workers of a Dask cluster: each file all the way on one core.

What is done with a file, and which variant does it, is what this machine would do: `auto` counts this
machine's cores wherever the file is filtered. Small files go several to a task, as one takes the scheduler,
the worker and this process 3 ms.
"""

import asyncio
import errno
import os
import pickle
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from engine.cluster import connected, loaded, sealed
from engine.commands.batch_loop import Finished, Loop, Ran, job_for, open_file, write_result
from engine.commands.batch_plan import BatchPlan, PictureFile
from engine.commands.picture_work import PictureWork
from engine.device.core_count import cores, launches_on
from engine.device.device_list import cpu_chosen_as
from engine.errors import DeviceFault, EngineError
from engine.files.part_files import part_file
from engine.flow.picture_memory import MOST_KEPT_BYTES, Loan, PictureMemory
from engine.image.form import RAISE_LIMIT, bytes_text
from engine.shortages import shortage_of

T = TypeVar("T")

# Tasks for each thread of the workers that are sent and not done yet. Files to a task at most, and what they
# take together, at least.
TASKS_AHEAD = 4
MOST_FILES = 32
MOST_TASK_BYTES = 4 << 20
# On how many workers a file is tried whose disks refuse it.
MOST_WORKERS = 3
# What a worker needs beside its pictures; what Dask leaves to a worker before it ends it.
_BASE_BYTES = 256 << 20
_LEFT_BY_DASK = 0.9
# What a worker's own disk can be the reason of: another worker may have what it takes.
_OF_A_DISK = {
    getattr(errno, name)
    for name in ["ENOSPC", "EDQUOT", "EIO", "EROFS", "EACCES", "EPERM", "ENOENT", "ESTALE", "ENODEV", "ENXIO"]
    if hasattr(errno, name)
}


class WorkerFault(NamedTuple):
    """Why a worker cannot do what another one may: its disk is full, or does not have the file."""

    error: EngineError
    worker: str


class DaskWorkers:
    """The workers of a cluster; Dask gives what a killed one had to another."""

    def __init__(self, plan: BatchPlan) -> None:
        assert plan.scheduler is not None
        self._plan, self._scheduler = plan, plan.scheduler
        self._files: dict[object, list[PictureFile]] = {}  # by the future of each task
        self._failed_on: dict[tuple[str, str], set[str]] = {}  # the workers whose disks refused a file
        self._deadly: list[PictureFile] = []
        self._killed: set[tuple[str, str]] = set()
        self._fault: DeviceFault | None = None

    def run(self, loop: Loop) -> None:
        """Have the files filtered, enough at a time that no worker waits for the next."""
        begin, distributed = time.perf_counter(), loaded("distributed", "--scheduler")
        with connected(self._scheduler) as client, _sign_in(self._plan.out) as (sign, take_down):
            loop.start_s = time.perf_counter() - begin
            # What begins without it writes nothing.
            loop.when_stopped.append(take_down)
            self._client, self._take = client, sealed(taken_on_worker, self._plan.how, sign, cores())
            self._done = distributed.as_completed(loop=client.loop, with_results=True, raise_errors=False)
            threads = sum(client.nthreads().values())
            for file in self._plan.files:
                if file.refusal is not None:
                    loop.report(Finished(file, file.refusal))
            tasks = _tasks([file for file in self._plan.files if file.refusal is None], threads)
            while True:
                room = TASKS_AHEAD * threads - len(self._files)
                if 2 * room >= TASKS_AHEAD * threads:
                    self._send(loop, list(islice(tasks, room)))
                if not self._files and self._deadly:
                    # With nothing beside it, which would die with it.
                    self._send(loop, [[self._deadly.pop()]])
                if (done := next(self._done, None)) is None:
                    break
                future, outcome = done
                self._receive(loop, self._files.pop(future), outcome, distributed.KilledWorker)
        if self._fault is not None:
            raise self._fault

    def _send(self, loop: Loop, tasks: list[list[PictureFile]], workers: Iterable[str] = ()) -> None:
        if loop.is_stopped or self._fault is not None or not tasks:
            return
        try:
            futures = self._client.map(
                self._take,
                # The scheduler may have no Haloscope: it passes bytes on.
                [pickle.dumps(list(map(_anywhere, files))) for files in tasks],
                pure=False,
                workers=list(workers) or None,
                allow_other_workers=bool(workers),
            )
        except Exception:  # noqa: BLE001 - the client has closed itself
            self._fault = self._scheduler.lost()
            return
        self._files.update(zip(futures, tasks, strict=True))
        self._done.update(futures)

    def _receive(self, loop: Loop, files: list[PictureFile], outcome: Any, killed: type[Exception]) -> None:
        """Report what became of the files of a task, or have them done elsewhere."""
        error = outcome[1] if isinstance(outcome, tuple) else outcome
        if isinstance(error, list):
            for file, found in zip(files, error, strict=True):
                if isinstance(found, WorkerFault):
                    self._elsewhere(loop, file, found)
                else:
                    # The worker's copy of the file is another object.
                    loop.report(replace(found, file=file))
        elif loop.is_stopped and isinstance(error, CancelledError):
            pass
        elif isinstance(error, killed):
            for file in files:
                if file.names in self._killed:
                    what, why = "Its worker ended each time that it was tried", "it was killed"
                    remedy = "Give the workers more memory, which may be short, or leave it out."
                    loop.report(Finished(file, EngineError(what, why, remedy)))
                else:
                    self._killed.add(file.names)
                    self._deadly.append(file)
        elif isinstance(error, CancelledError):
            self._fault = self._scheduler.lost()
        else:
            self._fault = self._scheduler.unable(error)

    def _elsewhere(self, loop: Loop, file: PictureFile, fault: WorkerFault) -> None:
        failed_on = self._failed_on.setdefault(file.names, set())
        failed_on.add(fault.worker)
        try:
            others = set(self._client.nthreads()) - failed_on
        except (OSError, RuntimeError, asyncio.CancelledError):
            self._fault = self._scheduler.lost()
            return
        if loop.is_stopped:
            return
        if others and len(failed_on) < MOST_WORKERS:
            self._send(loop, [[file]], others)
        else:
            loop.report(Finished(file, fault.error))


def _tasks(files: Sequence[PictureFile], threads: int) -> Iterator[list[PictureFile]]:
    """Yield the files of each task: fewer to the end, so that all workers end together."""
    task: list[PictureFile] = []
    size = 0
    for number, file in enumerate(files):
        task.append(file)
        with suppress(OSError):
            size += os.stat(file.source).st_size
        left = len(files) - number - 1
        if len(task) >= min(MOST_FILES, -(-left // (2 * threads))) or size >= MOST_TASK_BYTES:
            yield task
            task, size = [], 0


def taken_on_worker(how: PictureWork, sign: str, asking_cores: int, data: bytes) -> list[object]:
    """Return what became of each file, taken all the way, from reading to writing: Finished or WorkerFault.

    `sign` is seen where the results' folder is; `asking_cores` are those of the machine that asks, by which
    `auto` chooses; `data` has the files. Called on: a thread of a worker.
    """
    worker, files = loaded("distributed", "A worker").get_worker(), pickle.loads(data)
    # Written while the next one is filtered: half of the time of a small file is the disk's.
    with cpu_chosen_as(asking_cores), launches_on(1), ThreadPoolExecutor(1, "batch-write") as writer:
        taken = [_outcome(file, worker, _taken, how, sign, file, worker, writer) for file in files]
        return [
            _outcome(file, worker, one.result) if isinstance(one, Future) else one
            for file, one in zip(files, taken, strict=True)
        ]


def _outcome(
    file: PictureFile, worker: Any, step: Callable[..., T], *given: object
) -> T | Finished | WorkerFault:
    """Return what a step returns, or what its error means."""
    try:
        return step(*given)
    except (EngineError, MemoryError) as error:
        known = error if isinstance(error, EngineError) else shortage_of(error)
        assert known is not None
        return WorkerFault(known, worker.address) if _is_of_a_disk(error) else Finished(file, known)


def _taken(
    how: PictureWork, sign: str, file: PictureFile, worker: Any, writer: ThreadPoolExecutor
) -> "Future[Finished]":
    """Filter a file and have it written."""
    loan = Loan(_memory_of_worker())
    try:
        for path, named in ((sign, os.path.dirname(sign)), (file.source, file.source)):
            if not os.path.exists(path):
                raise _unseen(named)
        within, remedy = _within(how, worker)
        job = job_for(within, file, open_file(within, file, loan, remedy), loan)
        encoded, finished = job.filtered_and_encoded()
    finally:
        loan.give_back()
    ran = Ran(job.call.choice.variant.key, job.call.device.title, platform.node())
    return writer.submit(_written, encoded, replace(finished, ran=ran))


def _written(encoded: bytes | memoryview, finished: Finished) -> Finished:
    # Dask may run a task again whose worker died after it wrote.
    write_result(encoded, finished.file, may_be_there=True)
    return finished


def _within(how: PictureWork, worker: Any) -> tuple[PictureWork, str]:
    """Return what is done within a worker's memory, and what helps where a picture needs more."""
    if worker.memory_manager.memory_limit is None:
        return how, RAISE_LIMIT
    each = worker.memory_manager.memory_limit // worker.state.nthreads
    most = int(each * _LEFT_BY_DASK) - _BASE_BYTES
    if most >= how.saving.max_bytes:
        return how, RAISE_LIMIT
    where = f"this one on {platform.node()} has {bytes_text(each)} for each of its threads"
    saving = replace(how.saving, max_bytes=max(0, most))
    return replace(how, saving=saving), f"Give the workers more memory: {where}."


def _anywhere(file: PictureFile) -> PictureFile:
    """Return a file under the names that it has in every folder where a worker may have been started."""
    return replace(file, source=os.path.abspath(file.source), target=os.path.abspath(file.target))


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

    with file:
        try:
            yield os.path.abspath(file.name), take_down
        finally:
            take_down()


def _is_of_a_disk(error: BaseException | None) -> bool:
    """Return whether an error goes back to what another worker's disk may not have."""
    if isinstance(error, OSError) and error.errno in _OF_A_DISK:
        return True
    return error is not None and _is_of_a_disk(error.__cause__)


def _unseen(path: str) -> EngineError:
    what = f"{path} is not seen on {platform.node()}, where a worker runs"
    remedy = "Put it on a disk that all machines share."
    error = EngineError(what, "its disks do not have it", remedy)
    error.__cause__ = FileNotFoundError(errno.ENOENT, path)
    return error


@cache
def _memory_of_worker() -> PictureMemory:
    """Return the memory of the pictures in this worker, whose threads each have one at a time."""
    return PictureMemory(None, MOST_KEPT_BYTES)
