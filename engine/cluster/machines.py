"""Sweeps over the machines of a cluster: each measures every cell, one at a time, with all of its cores.

One worker of each machine measures; the others stay idle, so that nothing runs beside a measurement.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from engine.cluster.address import SchedulerAddress
from engine.cluster.connection import Cluster, SchedulerLost, connected
from engine.cluster.extra import loaded
from engine.cluster.sealed import sealed
from engine.cluster.worker import machine_name
from engine.device.devices import devices
from engine.device.versions import commit, versions
from engine.device_info import AUTO
from engine.errors import DeviceFault, DeviceUnavailable, EngineError
from engine.results.export import machine_document
from engine.results.measurement import AnyResult
from engine.run.sweep import Measure, measured_result, not_run, sweep
from engine.run.task import AnyJob

# How often it is asked whether a worker is still there.
_ASKED_EACH_S = 2.0

Cell = tuple[AnyResult, DeviceFault | None]


class Machines:
    """The machines of a cluster, each with the worker that measures there; `documents` describe them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # Of the workers of a machine the first.
        self._workers = {machine: worker for worker, machine in reversed(list(cluster.machines.items()))}
        self._faults: dict[str, DeviceFault | None] = dict.fromkeys(self._workers)
        found = cluster.client.run(sealed(described), workers=list(self._workers.values()))
        self.documents: list[dict[str, Any]] = [
            {"name": machine} | found[worker] for machine, worker in self._workers.items()
        ]

    def sweep(
        self,
        jobs: Iterable[AnyJob],
        device: str,
        budget_s: float,
        on_result: Callable[[Any], None] = lambda result: None,
        measure: Measure = measured_result,
    ) -> tuple[list[AnyResult], DeviceFault | None]:
        """Have every machine measure every job; as `engine.run.sweep.sweep`.

        A scheduler that is lost is returned too, beside what was measured before.
        """
        results: list[AnyResult] = []
        for job in jobs:
            sent = {
                machine: self._send(worker, job, device, budget_s, measure, self._faults[machine])
                for machine, worker in self._workers.items()
            }
            for machine, future in sent.items():
                try:
                    result, self._faults[machine] = self._measured(machine, job, device, future)
                except SchedulerLost as lost:
                    if not results:
                        raise
                    return results, lost
                results.append(result)
                on_result(result)
        return results, next(filter(None, self._faults.values()), None)

    def _send(self, worker: str, *given: Any) -> Any:
        with warnings.catch_warnings():
            # Pictures of a job are large on purpose.
            warnings.simplefilter("ignore")
            return self._cluster.client.submit(sealed(measured_here, *given), workers=[worker], pure=False)

    def _measured(self, machine: str, job: AnyJob, device: str, future: Any) -> Cell:
        """Wait for a cell; where its worker is lost, that is its result."""
        while True:
            try:
                cell: Cell = future.result(timeout=_ASKED_EACH_S)
            except TimeoutError:
                if self._workers[machine] in self._cluster.workers():
                    continue
                future.cancel()
                return self._lost(machine, job, device)
            except loaded("distributed", "--scheduler").KilledWorker:
                return self._lost(machine, job, device)
            except CancelledError as error:
                raise self._cluster.lost() from error
            except RuntimeError as error:
                raise self._cluster.unable(error) from error
            return cell

    def _lost(self, machine: str, job: AnyJob, device: str) -> Cell:
        """Return the result of a cell whose worker ended; the next one has another worker there, if any."""
        try:
            self._cluster.check()
        except SchedulerLost:
            raise
        except DeviceUnavailable:
            # The cells that follow say so, unless a worker comes back.
            pass
        others = [worker for worker, name in self._cluster.machines.items() if name == machine]
        present = self._cluster.workers()
        self._workers[machine] = next((one for one in others if one in present), self._workers[machine])
        error = EngineError(f"The worker on {machine} was lost", "it ended during the measurement")
        return _of_machine(not_run(job, "cpu" if device == AUTO else device, error), machine), None


@contextmanager
def machines_of(address: SchedulerAddress) -> Iterator[Machines]:
    """Yield the machines of a cluster, connected to or started."""
    with connected(address) as cluster:
        yield Machines(cluster)


def described() -> dict[str, Any]:
    """Return this machine, its devices and versions as plain data. Called on: a worker."""
    return machine_document(devices(), versions(), commit())


def measured_here(
    job: AnyJob, device: str, budget_s: float, measure: Measure, fault: DeviceFault | None
) -> Cell:
    """Return the result of a job, with this machine's name. Called on: a worker."""
    results, fault = sweep([job], device, budget_s, measure=measure, fault=fault)
    return _of_machine(results[0], machine_name()), fault


def _of_machine(result: AnyResult, machine: str) -> AnyResult:
    return replace(result, environment=replace(result.environment, machine=machine))
