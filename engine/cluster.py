"""A cluster of Dask: connected to, or started on this machine; refused in words where its parts differ.

Dask is an extra (`haloscope[cluster]`): nothing of it is imported without being asked for.
"""

import importlib.util
import logging
import os
import pickle
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from engine.errors import BadValue, DeviceFault, DeviceUnavailable, EngineError
from engine.process import cores

CONNECT_S = 10
# `local:N` is for this machine: more processes than this only take memory from one another.
_LEAST_LIMIT, _PER_CORE = 16, 4
# Without a profiler that looks at the threads each 10 ms. Dask's own environment has the C library give
# memory back at once, and take it page by page for the next picture: 5 of 40 ms for one of 1024 x 768.
# What Dask looks at many times a second takes 3 % of two cores, and a sixth of that so.
_OF_LOCAL_WORKERS = {
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1},
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.scheduler.work-stealing-interval": "500ms",
}
_PACKAGE = __name__.partition(".cluster")[0]  # `engine`, or `haloscope` where it is installed
_SAME = "Install the same there, or start the worker in the folder of the same clone."


class SchedulerLost(DeviceFault, code="scheduler-lost"):
    """The scheduler ended, the line to it did, or it and its workers cannot do what they are sent."""


@dataclass(frozen=True, slots=True)
class SchedulerAddress:
    """The address of a scheduler that runs; or so many worker processes that are started on this machine."""

    text: str
    processes: int = 0

    @classmethod
    def parse(cls, text: str) -> "SchedulerAddress":
        """Return what tcp://host:port, tls://host:port or local:N says."""
        remedy = "Write tcp://host:8786, tls://host:8786, or local:2 for two processes on this machine."
        if found := re.fullmatch(r"local:(\d{1,6})", text):
            processes, most = int(found[1]), max(_LEAST_LIMIT, _PER_CORE * cores())
            if not 1 <= processes <= most:
                raise BadValue(f"--scheduler {text}", f"it is not 1 to {most} processes", remedy)
            return cls(text, processes)
        if not re.fullmatch(r"(?:tcp|tls)://(?:\[[0-9A-Fa-f:.]+\]|[^\s/:\[\]]+):\d{1,5}", text):
            raise BadValue(f"--scheduler {text}", "it is not the address of a scheduler", remedy)
        return cls(text)

    def lost(self) -> SchedulerLost:
        """Return the error of a scheduler that is gone."""
        what, why = f"The scheduler {self.text} was lost", "it ended, or the line to it did"
        return SchedulerLost(what, why, "What is written stays. Run the command again for what is missing.")

    def unable(self, error: BaseException) -> SchedulerLost:
        """Return the error of a scheduler, or of workers, that cannot open the tasks of this machine."""
        why = f"it cannot have tasks done: {' '.join(str(error).split())[:300]}"
        return SchedulerLost(f"The scheduler {self.text}", why, "Start it and its workers with what is here.")


def loaded(module: str, what: str) -> Any:
    """Return a module of the extra; an `EngineError` says that `what` needs it where it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise EngineError(f"{what} needs Dask", "pip install 'haloscope[cluster]'") from None


def sealed(function: Callable[..., object], *given: object) -> Callable[..., object]:
    """Return a function that calls this one with what is given, and with what it is called with after it.

    Only the worker that calls it opens it: the scheduler, which unpickles the tasks that it passes on, finds
    nothing but bytes in it and needs no Haloscope. `dask worker` does not look for modules in the folder
    where it is started, as `python` does: so a clone is looked for there.
    """
    data: bytes = loaded("cloudpickle", "A task of Dask").dumps(partial(function, *given))
    package, remedy = _PACKAGE, _SAME

    # A function within another one is pickled with its code. Dask looks for the name `block_id`.
    def call(*more: object, block_id: tuple[int, ...] | None = None, **named: object) -> object:
        folder = os.getcwd()
        is_found = importlib.util.find_spec(package) is not None
        if not is_found and os.path.isfile(os.path.join(folder, package, "cluster.py")):
            sys.path.append(folder)
        elif not is_found:
            raise RuntimeError(f"A worker of the cluster has no Haloscope. {remedy}")
        placed = {} if block_id is None else {"block_id": block_id}
        return pickle.loads(data)(*more, **placed, **named)

    call.__name__ = getattr(function, "__name__", call.__name__)
    # Else Dask pickles it to tell it from others: half of the time that an array's tasks are made in.
    vars(call)["__dask_tokenize__"] = partial(bytes, data)
    return call


@contextmanager
def connected(address: SchedulerAddress) -> Iterator[Any]:
    """Yield a client of a cluster; what the main thread starts for it ends with it, and with this process."""
    distributed = loaded("distributed", "--scheduler")
    # What goes wrong is said in our words; the logs would stand between them. Some have levels of their own.
    for name in ("tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with ExitStack() as stack:
        scheduler, most = address.text, address.processes
        if most:
            with loaded("dask.config", "--scheduler").set(_OF_LOCAL_WORKERS):
                local = distributed.LocalCluster(
                    n_workers=most,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    # There is a web server all the same: of this machine only, and on no port that another
                    # may have.
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                    silence_logs=logging.CRITICAL + 1,
                    memory_limit="auto" if most <= cores() else 1 / most,
                )
            stack.callback(_close, local)
            scheduler = local.scheduler_address
        client = _client(distributed, scheduler, address)
        stack.callback(_close, client)
        _check(client, address)
        yield client


def _close(one: Any) -> None:
    # It may be gone already.
    with suppress(Exception):
        one.close()


def _client(distributed: Any, scheduler: str, address: SchedulerAddress) -> object:
    made: Future[object] = Future()

    def make() -> None:
        try:
            made.set_result(distributed.Client(scheduler, timeout=CONNECT_S, set_as_default=False))
        except Exception as error:  # noqa: BLE001 - the other thread raises it
            made.set_exception(error)

    try:
        with warnings.catch_warnings():
            # Of versions that differ: `_check` refuses those that matter.
            warnings.simplefilter("ignore")
            # A server of another kind that takes the connection and says nothing is waited for without end.
            threading.Thread(target=make, name="connect", daemon=True).start()
            return made.result(1.2 * CONNECT_S)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        why = f"no scheduler of Dask answers there within {CONNECT_S} s"
        remedy = "Check the address, and that `dask scheduler` runs there; or take --scheduler local:2."
        raise DeviceUnavailable(f"The scheduler {address.text}", why, remedy) from error


def _check(client: Any, address: SchedulerAddress) -> None:
    """Refuse a cluster without workers, and a scheduler or worker with other versions."""
    # 30 ms to load, which `batch` alone has no use for.
    from asyncio import CancelledError

    try:
        versions = client.get_versions()
        haloscope = client.run(sealed(_version), on_error="return")
    except (OSError, RuntimeError, CancelledError) as error:
        raise address.lost() from error
    if not versions["workers"]:
        remedy = f"Start one on each machine: dask worker {address.text} --nthreads 1"
        raise DeviceUnavailable(f"The scheduler {address.text}", "it has no workers", remedy)
    # A scheduler needs no Haloscope. A worker that cannot say it returns the error.
    ours = _packages(versions["client"], _version())
    parts = [(f"The scheduler {address.text}", versions["scheduler"], _version(), "Start it with the same.")]
    for worker, found in versions["workers"].items():
        parts.append((f"The worker {worker}", found, haloscope.get(worker), _SAME))
    for who, found, version, remedy in parts:
        theirs = _packages(found, version)
        if other := [name for name in theirs if theirs[name] != ours[name]]:
            has = ", ".join(f"{name} {theirs[name] or 'not installed'}" for name in other)
            needed = ", ".join(f"{name} {ours[name]}" for name in other)
            raise DeviceUnavailable(who, f"it has {has}; this command has {needed}", remedy)


def _packages(found: dict[str, Any], haloscope: object) -> dict[str, str]:
    packages = found["packages"]
    dask = {name: str(packages[name] or "") for name in ("dask", "distributed")}
    python = ".".join(str(packages["python"]).split(".")[:2])
    return {"Python": python, **dask, "Haloscope": haloscope if isinstance(haloscope, str) else ""}


def _version() -> str:
    return str(import_module(_PACKAGE).__version__)
