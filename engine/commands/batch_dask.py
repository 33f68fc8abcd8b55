"""A batch over the workers of a Dask cluster: each file all the way on one core.

A thread here waits for each task, so to the batch's loop a task is what a thread does on one machine. What is
done with a file, and which variant does it, is what this machine would do: `auto` counts this machine's cores
wherever the file is filtered. Small files go several to a task, as one takes the scheduler, the worker and
this process 3 ms.
"""

import asyncio
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from engine.cluster import connected
from engine.commands.batch_loop import Batch, Finished, Task, all_the_way, write_result
from engine.commands.batch_plan import BatchPlan, PictureFile
from engine.commands.picture_work import PictureWork
from engine.dask_task import loaded, sealed
from engine.device.device_list import cpu_chosen_as
from engine.device.host_memory import PictureMemory
from engine.errors import EngineError
from engine.files.atomic_write import part_file
from engine.image.format import RAISE_LIMIT
from engine.process import bytes_text, cores, launches_on

# Tasks for each thread of the workers that are sent and not done yet. Files to a task at most, and what they
# take together, at least.
TASKS_AHEAD = 4
MOST_FILES = 32
MOST_TASK_BYTES = 4 << 20
# What a worker needs beside its pictures; what Dask leaves to a worker before it ends it.
_BASE_BYTES = 256 << 20
_LEFT_BY_DASK = 0.9


def run(batch: Batch, plan: BatchPlan) -> None:
    """Have the files filtered, enough at a time that no worker waits; Dask gives a killed one's to others."""
    begin, scheduler = time.perf_counter(), plan.scheduler
    assert scheduler is not None
    killed: type[Exception] = loaded("distributed", "--scheduler").KilledWorker
    deadly: list[PictureFile] = []  # of tasks whose workers ended each time

    def take(task: Task, *, is_alone: bool = False) -> None:
        """Have files filtered and written; where their worker ends each time, once more alone."""
        work = sealed(taken_on_worker, plan.how, seen, cores(), [file.absolute for file in task.files])
        try:
            found: list[Finished] = client.submit(work, pure=False).result()
        except killed:
            if is_alone:
                remedy = "Give the workers more memory, which may be short, or leave it out."
                what = "Its worker ended each time that it was tried"
                raise EngineError(what, "it was killed", remedy) from None
            deadly.extend(task.files)
            return
        except (CancelledError, asyncio.CancelledError):
            raise (CancelledError() if batch.is_stopped else scheduler.lost()) from None
        except Exception as error:
            is_there = client.status == "running"
            raise (scheduler.unable(error) if is_there else scheduler.lost()) from error

        def count() -> Sequence[Finished]:
            batch.written += sum(one.error is None for one in found)
            # The worker's copy of a file is another object.
            return [replace(one, file=file) for file, one in zip(task.files, found, strict=True)]

        task.write = count

    # A file in the folder for the results: a worker that does not see it would write to a disk of its own.
    # What a killed process leaves of it is removed by the next one (`engine.files.atomic_write`).
    with connected(scheduler) as client, part_file(Path(plan.out or ".")) as sign, ExitStack() as at_end:
        seen = os.path.abspath(sign.name)

        def take_down() -> None:
            with suppress(OSError):
                os.unlink(seen)

        # What begins without it writes nothing.
        batch.when_stopped = at_end.callback(take_down)
        batch.start_s = time.perf_counter() - begin
        threads = sum(client.nthreads().values())
        batch.through(take, TASKS_AHEAD * threads, _tasks(plan.files, threads))
        # With nothing beside it, which would die with it.
        batch.through(partial(take, is_alone=True), 1, ([file] for file in deadly))


def _tasks(files: Sequence[PictureFile], threads: int) -> Iterator[list[PictureFile]]:
    """Yield the files of each task: fewer to the end, so that all workers end together."""
    task: list[PictureFile] = []
    size = 0
    for left, file in zip(reversed(range(len(files))), files, strict=True):
        task.append(file)
        with suppress(OSError):
            size += os.stat(file.source).st_size
        if len(task) >= min(MOST_FILES, -(-left // (2 * threads))) or size >= MOST_TASK_BYTES:
            yield task
            task, size = [], 0


def taken_on_worker(
    how: PictureWork, sign: str, asking_cores: int, files: Sequence[PictureFile]
) -> list[Finished]:
    """Return what became of each file, taken all the way, from reading to writing.

    `sign` is seen where the results' folder is; `asking_cores` are those of the machine that asks, by which
    `auto` chooses. Called on: a thread of a worker.
    """
    worker, machine, remedy = loaded("distributed", "A worker").get_worker(), platform.node(), RAISE_LIMIT
    each = (worker.memory_manager.memory_limit or sys.maxsize) // worker.state.nthreads
    most = max(0, int(each * _LEFT_BY_DASK) - _BASE_BYTES)
    if most < how.saving.max_bytes:
        how = replace(how, saving=replace(how.saving, max_bytes=most))
        where = f"this one on {machine} has {bytes_text(each)} for each of its threads"
        remedy = f"Give the workers more memory: {where}."

    def ready(task: Task) -> None:
        (file,) = task.files
        for path, named in ((sign, os.path.dirname(sign)), (file.source, file.source)):
            if file.refusal is None and not os.path.exists(path):
                what = f"{named} is not seen on {machine}, where a worker runs"
                remedy_there = "Put it on a disk that all machines share."
                raise EngineError(what, "its disks do not have it", remedy_there)
        with cpu_chosen_as(asking_cores), launches_on(1):
            encoded, finished = all_the_way(how, file, PictureMemory(), remedy=remedy)
        # Dask may run a task again whose worker died after it wrote.
        write_result(encoded, file, may_be_there=True)
        task.write = lambda: [finished]

    found: list[Finished] = []
    Batch(1, found.append).through(ready, 1, ([file] for file in files))
    return found
