"""What workers are given in tests: calls that fail as disks and processes do."""

import errno
import os
import platform
import signal
import time
from pathlib import Path

import distributed

from engine.errors import FileWriteError


def double(number):
    return 2 * number


def worker_of(item):
    return distributed.get_worker().address


def kill_once(flag):
    """Kill this worker in the first call that finds the flag; return the worker of the call after it."""
    try:
        os.unlink(flag)
    except FileNotFoundError:
        return distributed.get_worker().address
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def kill_if_odd(number):
    if number % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def full_on(worker):
    """Return the worker, unless it is the one whose disk is full."""
    here = distributed.get_worker().address
    if here == worker:
        error = FileWriteError("x.png cannot be written", "the disk is full")
        raise error from OSError(errno.ENOSPC, "No space left on device")
    return here


def kill_once_unless_full(worker, flag):
    """Fail on a worker with a full disk while there is the flag; kill another one that finds it."""
    return full_on(worker) if Path(flag).exists() and is_here(worker) else kill_once(flag)


def is_here(worker):
    return distributed.get_worker().address == worker


def full_everywhere(item):
    error = FileWriteError("x.png cannot be written", "the disk is full")
    raise error from OSError(errno.ENOSPC, "No space left on device")


def refuse(item):
    raise FileWriteError("x.png cannot be written", "it is a folder")


def wait_for(path):
    """Wait until a file is there; tests write it."""
    while not Path(path).exists():
        time.sleep(0.01)
    return path


def rename_machines(dask_worker):
    """Let each worker of one machine say that it runs on another one."""
    name = f"machine-{dask_worker.name}"
    platform.node = lambda: name
