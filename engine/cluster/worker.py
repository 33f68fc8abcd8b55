"""What runs on a worker: a function called for several items, each with an outcome of its own."""

import errno
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from engine.cluster.extra import loaded
from engine.errors import EngineError

T = TypeVar("T")

# What a worker's own disk can be the reason of: another worker may have what it takes.
_OF_THIS_DISK = frozenset(
    (
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.ENOENT,
        errno.ESTALE,
        errno.ENODEV,
        errno.ENXIO,
    )
)


class WorkerFault(Exception):
    """A worker cannot do what another one may: its disk is full, or does not have the file."""

    def __init__(self, error: EngineError, worker: str, machine: str) -> None:
        super().__init__(error, worker, machine)
        self.error, self.worker, self.machine = error, worker, machine


def fault_here(error: EngineError) -> WorkerFault:
    """Return an error as one of this worker. Called on: a worker."""
    return WorkerFault(error, _worker().address, machine_name())


def machine_name() -> str:
    """Return the name of this machine."""
    return platform.node()


def memory_limit() -> int | None:
    """Return what Dask lets each of this worker's threads take, bytes; None without a limit."""
    worker = _worker()
    limit: int | None = worker.memory_manager.memory_limit
    return None if limit is None else limit // worker.state.nthreads


def call_each(function: Callable[[T], Any], items: Sequence[T]) -> list[Any]:
    """Return what a function returns for each item, or the exception that it raises.

    A future that it returns is waited for after the next item has begun: a file is written meanwhile.
    """
    begun = [_attempted(lambda item=item: function(item)) for item in items]  # type: ignore[misc]
    return [_attempted(one.result) if isinstance(one, Future) else one for one in begun]


def _attempted(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except EngineError as error:
        return fault_here(error) if is_of_this_disk(error) else error
    except Exception as error:  # noqa: BLE001 - the caller raises it again
        return error


def is_of_this_disk(error: BaseException) -> bool:
    """Return whether an error goes back to what another worker's disk may not have."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _OF_THIS_DISK:
            return True
        cause = cause.__cause__
    return False


def _worker() -> Any:
    return loaded("distributed", "A worker").get_worker()
