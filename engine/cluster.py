"""A cluster of Dask: connected to, or started on this machine; refused in words where its parts differ."""

import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from engine.dask_task import PACKAGE, SAME, loaded, sealed
from engine.errors import BadValue, DeviceFault, DeviceUnavailable
from engine.process import cores

CONNECT_S = 10
# `local:N` is for this machine: more processes than this only take memory from one another.
_LEAST_LIMIT, _PER_CORE = 16, 4
# Without a profiler that looks at the threads each 10 ms. Dask's own environment has the C library give
# memory back at once, and take it page by page for the next picture: 5 of 40 ms for one of 1024 x 768.
# What Dask looks at many times a second takes 3 % of two cores, and a sixth of that so. Where a process that
# has only loaded Dask may be forked, each worker starts in half a second of processor time less.
_OF_LOCAL_WORKERS = {
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1},
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.scheduler.work-stealing-interval": "500ms",
    "distributed.worker.multiprocessing-method": "forkserver" if sys.platform == "linux" else "spawn",
}


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
        if local := re.fullmatch(r"local:(\d{1,6})", text):
            processes, most = int(local[1]), max(_LEAST_LIMIT, _PER_CORE * cores())
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


@contextmanager
def connected(address: SchedulerAddress) -> Iterator[Any]:
    """Yield a client of a cluster; what is started for it here ends with it, and with this process."""
    distributed = loaded("distributed", "--scheduler")
    # Failures are reported in our words; the logs would come in between. Some have levels of their own.
    for name in ("tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with warnings.catch_warnings():
        # Of versions that differ: `_check` refuses those that matter.
        warnings.simplefilter("ignore")
        client = (_started if address.processes else _connected)(distributed, address)
    try:
        _check(client, address)
        yield client
    finally:
        # It may be gone already.
        with suppress(Exception):
            client.close()


def _started(distributed: Any, address: SchedulerAddress) -> Any:
    processes = address.processes
    with loaded("dask.config", "--scheduler").set(_OF_LOCAL_WORKERS):
        return distributed.Client(
            n_workers=processes,
            # One waits for the disk or the scheduler while the other works: 6 % of the time of small photos.
            threads_per_worker=2,
            dashboard_address=None,
            # There is a web server all the same: of this machine only, and on no port that another may have.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL + 1,
            memory_limit=1 / max(processes, cores()),
            set_as_default=False,
        )


def _connected(distributed: Any, address: SchedulerAddress) -> Any:
    # Loaded by `distributed`, in 30 ms, which `batch` alone has no use for.
    asyncio, how = import_module("asyncio"), distributed.Security().get_connection_args("client")

    async def greeted() -> None:
        async with distributed.rpc(address.text, timeout=CONNECT_S, connection_args=how) as scheduler:
            await scheduler.identity()

    try:
        # A client waits without end for a server of another kind that takes the connection and says nothing.
        asyncio.run(asyncio.wait_for(greeted(), CONNECT_S))
        return distributed.Client(address.text, set_as_default=False)
    except Exception as error:
        why = f"no scheduler of Dask answers there within {CONNECT_S} s"
        remedy = "Check the address, and that `dask scheduler` runs there; or take --scheduler local:2."
        raise DeviceUnavailable(f"The scheduler {address.text}", why, remedy) from error


def _check(client: Any, address: SchedulerAddress) -> None:
    """Refuse a cluster without workers, and a scheduler or worker with other versions."""
    try:
        versions = client.get_versions()
        # A worker that cannot say its version returns the error.
        haloscope = client.run(sealed(_version), on_error="return")
    except (OSError, RuntimeError, import_module("asyncio").CancelledError) as error:
        raise address.lost() from error
    who, own = f"The scheduler {address.text}", _version()
    if not versions["workers"]:
        remedy = f"Start one on each machine: dask worker {address.text} --nthreads 2"
        raise DeviceUnavailable(who, "it has no workers", remedy)
    ours = _packages(versions["client"], own)
    # A scheduler needs no Haloscope.
    parts = [(who, _packages(versions["scheduler"], own), "Start it with the same.")]
    for worker, of_worker in versions["workers"].items():
        parts.append((f"The worker {worker}", _packages(of_worker, haloscope.get(worker)), SAME))
    for who, theirs, remedy in parts:
        if other := [name for name in ours if theirs[name] != ours[name]]:
            has = ", ".join(f"{name} {theirs[name] or 'not installed'}" for name in other)
            needed = ", ".join(f"{name} {ours[name]}" for name in other)
            raise DeviceUnavailable(who, f"it has {has}; this command has {needed}", remedy)


def _packages(versions: dict[str, Any], haloscope: object) -> dict[str, str]:
    packages = versions["packages"]
    python = ".".join(str(packages["python"]).split(".")[:2])
    dask = {name: str(packages[name] or "") for name in ("dask", "distributed")}
    return {"Python": python, **dask, "Haloscope": haloscope if isinstance(haloscope, str) else ""}


def _version() -> str:
    return str(import_module(PACKAGE).__version__)
