"""A cluster's scheduler and workers: connected to, or started on this machine; refused where they differ."""

import logging
import os
import signal
import sys
import threading
import time
import warnings
from asyncio import CancelledError
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from engine.cluster import machine_facts
from engine.cluster.address import SchedulerAddress
from engine.cluster.extra import loaded
from engine.device.core_count import cores
from engine.errors import DeviceFault, DeviceUnavailable

CONNECT_S = 10
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


class SchedulerLost(DeviceFault):
    """The scheduler ended, or the line to it did."""

    code = "scheduler-lost"


class Cluster:
    """A scheduler with at least one worker that has our versions.

    `machines` has the name of each worker's machine by the worker's address, `threads` what all workers run
    at a time, `start_s` what it took until they could begin.
    """

    def __init__(self, client: Any, address: SchedulerAddress) -> None:
        self.client, self.address = client, address
        self.machines: dict[str, str] = {}
        self.threads = 0
        self.start_s = 0.0

    def workers(self) -> list[str]:
        """Return the addresses of the workers that there are now."""
        return list(self._known())

    def lost(self) -> SchedulerLost:
        """Return the error of a scheduler that is gone."""
        what, why = f"The scheduler {self.address.text} was lost", "it ended, or the line to it did"
        return SchedulerLost(what, why, "What is written stays. Run the command again for what is missing.")

    def unable(self, error: Exception) -> SchedulerLost:
        """Return the error of a scheduler, or of workers, that cannot unpack the tasks of this machine."""
        why = f"it cannot have tasks done: {' '.join(str(error).split())[:300]}"
        remedy = "Start it and its workers with the same Python and Dask as here."
        return SchedulerLost(f"The scheduler {self.address.text}", why, remedy)

    def check(self) -> None:
        """Refuse a cluster without workers, and a scheduler or worker with other versions."""
        workers = self._known()
        if not workers:
            remedy = f"Start one on each machine: dask worker {self.address.text} --nthreads 1"
            raise DeviceUnavailable(f"The scheduler {self.address.text}", "it has no workers", remedy)
        self.threads = sum(int(worker["nthreads"]) for worker in workers.values())
        # `engine`, or `haloscope` where it is installed.
        package = __name__.partition(".cluster")[0]
        ours = machine_facts.facts_of_worker(package)
        scheduler = self._asked(self.client.scheduler.versions)["packages"]
        found = {name: str(scheduler[name.lower()] or "") for name in ("Python", "dask", "distributed")}
        found["Python"] = ".".join(found["Python"].split(".")[:2])
        _refuse_other(f"The scheduler {self.address.text}", found, ours, "Start it with the same.")
        answers = self.client.run(machine_facts.facts_of_worker, package, on_error="return")
        for worker, facts in answers.items():
            if not isinstance(facts, dict):
                raise DeviceUnavailable(
                    f"The worker {worker}", f"it does not answer: {facts}", "Start it again."
                )
            self.machines[worker] = facts.pop("machine")
            remedy = "Install the same there, or start the worker in the folder of the same clone."
            _refuse_other(f"The worker {worker} on {self.machines[worker]}", facts, ours, remedy)

    def _known(self) -> dict[str, Any]:
        # Not `scheduler_info`: what that returns may be of the client's own look meanwhile, without workers.
        workers: dict[str, Any] = self._asked(self.client.scheduler.identity, n_workers=-1)["workers"]
        return workers

    def _asked(self, question: Any, **named: Any) -> dict[str, Any]:
        """Return what the scheduler says of itself."""
        try:
            answer: dict[str, Any] = self.client.sync(question, **named)
        except (OSError, RuntimeError, CancelledError) as error:
            # As where the client closes meanwhile.
            raise self.lost() from error
        return answer


def _refuse_other(who: str, found: dict[str, str], ours: dict[str, str], remedy: str) -> None:
    """Refuse a part of a cluster with other versions than ours."""
    other = [name for name in found if found[name] != ours[name]]
    if other:
        theirs = ", ".join(f"{name} {found[name] or 'not installed'}" for name in other)
        needed = ", ".join(f"{name} {ours[name]}" for name in other)
        raise DeviceUnavailable(who, f"it has {theirs}; this command has {needed}", remedy)


@contextmanager
def connected(address: SchedulerAddress) -> Iterator[Cluster]:
    """Yield the cluster of an address; what was started for it ends with it, and with this process."""
    distributed = loaded("distributed", "--scheduler")
    loaded("cloudpickle", "--scheduler").register_pickle_by_value(machine_facts)
    # What goes wrong is said in our words; the logs would stand between them. Some have levels of their own.
    for name in ("tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    begin = time.perf_counter()
    local = client = None
    try:
        if address.processes:
            local = _started(distributed, address.processes)
        client = _client(distributed, local.scheduler_address if local else address.text, address)
        cluster = Cluster(client, address)
        cluster.check()
        cluster.start_s = time.perf_counter() - begin
        yield cluster
    finally:
        for one in (client, local):
            # It may be gone already.
            with suppress(Exception):
                if one is not None:
                    one.close()


def _client(distributed: Any, scheduler: str, address: SchedulerAddress) -> Any:
    made: Future[Any] = Future()

    def make() -> None:
        try:
            made.set_result(distributed.Client(scheduler, timeout=CONNECT_S, set_as_default=False))
        except Exception as error:  # noqa: BLE001 - the other thread raises it
            made.set_exception(error)

    try:
        with warnings.catch_warnings():
            # Of versions that differ: `check` refuses those that matter.
            warnings.simplefilter("ignore")
            # A server of another kind that takes the connection and says nothing is waited for without end.
            threading.Thread(target=make, name="connect", daemon=True).start()
            return made.result(1.2 * CONNECT_S)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        raise DeviceUnavailable(
            f"The scheduler {address.text}",
            f"no scheduler of Dask answers there within {CONNECT_S} s",
            "Check the address, and that `dask scheduler` runs there; or take --scheduler local:2.",
        ) from error


def _started(distributed: Any, processes: int) -> Any:
    """Start worker processes of one thread each. Called on: the main thread."""
    config = loaded("dask.config", "--scheduler")
    with config.set(_OF_LOCAL_WORKERS), _keeping_signals_from_workers():
        return distributed.LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            # There is a web server all the same: of this machine only, and on no port that another may have.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL + 1,
            memory_limit="auto" if processes <= cores() else 1 / processes,
        )


@contextmanager
def _keeping_signals_from_workers() -> Iterator[None]:
    """Let what is started within ignore Ctrl+C and a closed terminal, which are this process's to answer.

    Threads and processes inherit what is blocked. When this process ends, however, its workers notice.
    """
    if os.name != "posix":
        yield
        return
    signals = {signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    # Else the first process that is started starts Python's tracker, which takes Ctrl+C back for its starter.
    # It would print a warning of its own where this process is killed.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
