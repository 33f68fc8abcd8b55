"""What tests have the workers of a cluster do to themselves, so that disks and processes fail."""

import errno
import os
import signal
import time
from pathlib import Path

from engine.commands import batch_dask, batch_loop
from engine.errors import FileWriteError

_HEALING = []
"""What undoes the faults of this worker."""


def put(owner, name, value):
    """Put a value in the place of another until the worker is healed; return the other."""
    before = getattr(owner, name)
    _HEALING.append((owner, name, before))
    setattr(owner, name, value)
    return before


def heal():
    """Undo every fault."""
    while _HEALING:
        setattr(*_HEALING.pop())


def have_killed_in_a_file(flag):
    """Kill the worker that opens a picture while there is the flag, which is gone then."""
    job_for = batch_loop.job_for

    def killed(*given):
        try:
            os.unlink(flag)
        except FileNotFoundError:
            return job_for(*given)
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    batch_loop.job_for = killed


def have_killed_after_writing(flag):
    """Kill the worker that has written a file while there is the flag, before it can say so."""
    write = batch_dask.write_result

    def killed(*given, **named):
        write(*given, **named)
        try:
            os.unlink(flag)
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    batch_dask.write_result = killed


def have_no_space():
    """Let every write fail as on a full disk."""

    def full(data, file, **named):
        error = FileWriteError(f"{file.target} cannot be written", "the disk is full")
        raise error from OSError(errno.ENOSPC, "No space left on device")

    put(batch_dask, "write_result", full)


def kill_in(name):
    """Kill the worker that opens this picture, each time."""
    job_for = batch_loop.job_for

    def killed(how, file, *given):
        if file.source.endswith(name):
            os.kill(os.getpid(), signal.SIGKILL)
        return job_for(how, file, *given)

    batch_loop.job_for = killed


def wait_in_each_file(flag):
    """Let each file wait until the flag is there; another file says that one does."""
    job_for = batch_loop.job_for

    def waiting(*given):
        Path(f"{flag}.begun").touch()
        while not Path(flag).exists():
            time.sleep(0.01)
        return job_for(*given)

    put(batch_loop, "job_for", waiting)


def see_nothing_in(folder):
    """Let the worker's disks have nothing below a folder."""
    exists = os.path.exists
    put(os.path, "exists", lambda path: not str(path).startswith(folder) and exists(path))


def have_memory(size, dask_worker):
    """Let the worker have so many bytes."""
    put(dask_worker.memory_manager, "memory_limit", size)
