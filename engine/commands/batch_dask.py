"""A batch over the workers of a Dask cluster: a task is a file, done all the way on one core.

What is done with a file, and which variant does it, is what this machine would do: `auto` counts this
machine's cores wherever the file is filtered.
"""

import asyncio
import os
import pickle
import platform
import sys
import time
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from engine.cluster import connected
from engine.commands.batch_loop import Batch, FileTask, Finished, all_the_way, write_result
from engine.commands.batch_plan import BatchPlan, PictureFile
from engine.commands.picture_work import PictureWork
from engine.dask_task import loaded, sealed
from engine.device.device_list import cpu_chosen_as
from engine.device.host_memory import PictureMemory
from engine.errors import EngineError
from engine.files.atomic_write import part_file
from engine.image.format import RAISE_LIMIT
from engine.process import bytes_text, cores, launches_on

# Files are sent in groups: one by one a file costs twice as much. For each thread of the workers, of groups
# that are not done yet, and how often a file is tried that its worker cannot do.
FILES_PER_THREAD, GROUPS_AHEAD, RETRIES = 8, 2, 3
# What a worker needs beside its pictures; what Dask leaves to a worker before it ends it.
_BASE_BYTES, _LEFT_BY_DASK = 256 << 20, 0.9
# A worker's, by what it may take: pictures of its threads that take more together wait for one another.
_memory = cache(PictureMemory)


def run(batch: Batch, plan: BatchPlan) -> None:
    """Have the files filtered, enough at a time that no worker waits; Dask gives a killed one's to others."""
    begin, scheduler = time.perf_counter(), plan.scheduler
    assert scheduler is not None
    killed: type[Exception] = loaded("distributed", "--scheduler").KilledWorker
    deadly: list[PictureFile] = []  # whose workers ended each time

    def take(group: FileTask, *, is_alone: bool = False) -> None:
        """Have files filtered and written; where their worker ends each time, once more alone."""
        try:
            files = [pickle.dumps(file.absolute) for file in group.files]
            sent = client.map(work, files, pure=False, retries=RETRIES)
            done = iter(client.gather(sent, errors="skip"))
            # To ask for the error of one that has none is a way to Dask's thread and back, too.
            errors = [None if future.status == "finished" else future.exception() for future in sent]
        except (OSError, CancelledError, asyncio.CancelledError):
            raise (CancelledError() if batch.is_stopped else scheduler.lost()) from None
        outcomes: list[Finished] = []
        for file, error in zip(group.files, errors, strict=True):
            if error is None:
                # The worker's copy of a file is another object.
                outcomes.append(replace(next(done), file=file))
            elif not isinstance(error, killed):
                raise (scheduler.unable(error) if client.status == "running" else scheduler.lost()) from error
            elif is_alone:
                remedy = "Give the workers more memory, which may be short, or leave it out."
                raise EngineError("Its worker ended each time that it was tried", "it was killed", remedy)
            else:
                deadly.append(file)
        batch.written += sum(one.error is None for one in outcomes)
        group.write = lambda: outcomes

    # A file in the folder for the results: a worker that does not see it would write to a disk of its own.
    # What a killed process leaves of it is removed by the next one (`engine.files.atomic_write`).
    with connected(scheduler) as client, part_file(Path(plan.out or ".")) as sign, ExitStack() as at_end:
        seen = os.path.abspath(sign.name)
        # What begins without it writes nothing.
        batch.when_stopped = at_end.callback(partial(Path(seen).unlink, missing_ok=True))
        work = sealed(taken_on_worker, plan.how, seen, cores())
        batch.start_s = time.perf_counter() - begin
        count = FILES_PER_THREAD * sum(client.nthreads().values())
        groups = (plan.files[first : first + count] for first in range(0, len(plan.files), count))
        batch.through(take, GROUPS_AHEAD, groups)
        # With nothing beside it, which would die with it.
        batch.through(partial(take, is_alone=True), 1, ([file] for file in deadly))


def taken_on_worker(how: PictureWork, sign: str, asking_cores: int, pickled: bytes) -> Finished:
    """Return what became of a `PictureFile`, from reading to writing.

    `sign` is seen where the results' folder is; `asking_cores` are those of the machine that asks, by which
    `auto` chooses. Called on: a thread of a worker.
    """
    worker, machine, remedy = loaded("distributed", "A worker").get_worker(), platform.node(), RAISE_LIMIT
    limit = worker.memory_manager.memory_limit or sys.maxsize
    most = max(0, int(limit * _LEFT_BY_DASK) - _BASE_BYTES)
    if most < how.saving.max_bytes:
        how = replace(how, saving=replace(how.saving, max_bytes=most))
        where = f"this one on {machine} has {bytes_text(limit)}"
        remedy = f"Give the workers more memory: {where}."
    file: PictureFile = pickle.loads(pickled)
    try:
        for path, named in ((sign, os.path.dirname(sign)), (file.source, file.source)):
            if file.refusal is None and not os.path.exists(path):
                what = f"{named} is not seen on {machine}, where a worker runs"
                shared = "Put it on a disk that all machines share."
                raise EngineError(what, "its disks do not have it", shared)
        with cpu_chosen_as(asking_cores), launches_on(1):
            encoded, finished = all_the_way(how, file, _memory(most), remedy=remedy)
        # Dask may run a task again whose worker died after it wrote.
        write_result(encoded, file, may_be_there=True)
    except (EngineError, MemoryError) as error:
        task = FileTask([file])
        if not task.failed(error):
            raise
        return task.finished[0]
    return finished
