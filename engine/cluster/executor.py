"""Calls on the workers of a cluster, in the shape of `concurrent.futures.Executor`.

Dask gives the work of a worker that died to another one. What a worker cannot do because of its own disk goes
to another one from here, and a worker that failed so several times, where others did not, gets nothing more.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from engine.cluster.connection import Cluster
from engine.cluster.extra import loaded
from engine.cluster.sealed import sealed
from engine.cluster.worker import WorkerFault, call_each
from engine.errors import EngineError

T = TypeVar("T")

# On so many workers an item is tried where their disks fail, and so often may a worker's disk fail alone.
MOST_WORKERS = 3
MOST_FAULTS = 3
# How often it is asked whether the workers of a task are still there.
_ASKED_EACH_S = 2.0


@dataclass
class _Job:
    item: Any
    future: Future[Any] = field(default_factory=Future)
    faults: list[WorkerFault] = field(default_factory=list)


class ClusterExecutor(Executor):
    """The workers of a cluster, or some of them; `on_note` is told of a worker that is not used any more."""

    def __init__(self, cluster: Cluster, on_note: Callable[[str], object] = lambda note: None) -> None:
        self._cluster, self._on_note = cluster, on_note
        self._failures: Counter[str] = Counter()
        self._unused: set[str] = set()
        # Where each task may run that was sent; None: on any worker.
        self._sent: dict[Any, frozenset[str] | None] = {}
        self._stranded: set[Any] = set()
        self._watch: threading.Thread | None = None
        self._lock = threading.Lock()
        self._has_ended = threading.Event()

    def submit(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        """Call a function on a worker."""
        return self.submit_each(_Call(function, named), [arguments])[0]

    def submit_each(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[Future[T]]:
        """Call a function for each item, all on one worker; each item has a future of its own.

        Where one of them kills its worker several times, the others are done without it.
        """
        jobs = [_Job(item) for item in items]
        self._send(function, jobs)
        return [job.future for job in jobs]

    def end(self) -> None:
        """Try nothing on another worker any more: what fails now was ended. Called on: any thread."""
        self._has_ended.set()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Give up what is still under way."""
        self.end()
        with self._lock:
            sent, self._sent = self._sent, {}
        for one in sent:
            one.cancel()

    def _send(self, function: Callable[[Any], Any], jobs: list[_Job]) -> None:
        avoided = self._unused.union(*([fault.worker for fault in job.faults] for job in jobs))
        where = None
        if avoided:
            where = frozenset(self._cluster.workers()) - avoided or None
        try:
            sent = self._cluster.client.submit(
                sealed(call_each, function, [job.item for job in jobs]),
                pure=False,
                workers=where and list(where),
            )
        except Exception as error:
            # The client has closed itself.
            raise self._cluster.lost() from error
        with self._lock:
            self._sent[sent] = where
            if where and self._watch is None:
                self._watch = threading.Thread(target=self._find_stranded, name="stranded", daemon=True)
                self._watch.start()
        sent.add_done_callback(partial(self._done, function, jobs))

    def _send_one_by_one(self, function: Callable[[Any], Any], jobs: list[_Job]) -> None:
        """Try each job alone, the next one after the last: beside the one that kills, others die with it."""
        first, *rest = jobs

        def go_on(_future: Future[Any]) -> None:
            try:
                self._send_one_by_one(function, rest)
            except EngineError as error:
                self._fail(rest, error)

        if rest:
            first.future.add_done_callback(go_on)
        self._send(function, [first])

    def _find_stranded(self) -> None:
        """Take back tasks whose workers are all gone: Dask would wait until one of that address returns."""
        while not self._has_ended.wait(_ASKED_EACH_S):
            with suppress(EngineError):
                present = set(self._cluster.workers())
                with self._lock:
                    lost = [sent for sent, where in self._sent.items() if where and not where & present]
                    self._stranded.update(lost)
                for sent in lost:
                    sent.cancel()

    def _done(self, function: Callable[[Any], Any], jobs: list[_Job], sent: Any) -> None:
        """Settle the futures of a task. Called on: a thread of Dask's client."""
        with self._lock:
            self._sent.pop(sent, None)
        try:
            self._settle(function, jobs, sent)
        except EngineError as error:
            self._fail(jobs, error)
        except Exception as error:  # noqa: BLE001 - the futures get it
            self._fail(jobs, error)

    def _settle(self, function: Callable[[Any], Any], jobs: list[_Job], sent: Any) -> None:
        try:
            outcomes = sent.result()
        except loaded("distributed", "--scheduler").KilledWorker as error:
            if len(jobs) > 1:
                self._send_one_by_one(function, jobs)
                return
            raise EngineError(
                "Its worker ended each time that it was tried",
                "it was killed, as happens where memory is short",
                "Give the workers more memory, or leave it out.",
            ) from error
        except (CancelledError, TimeoutError, OSError) as error:
            if self._has_ended.is_set():
                outcomes = [CancelledError()] * len(jobs)
            elif sent in self._stranded:
                self._send(function, jobs)
                return
            else:
                raise self._cluster.lost() from error
        except Exception as error:
            # What an item raises is an outcome: here the scheduler, or a worker, cannot do its part.
            raise self._cluster.unable(error) from error
        for job, outcome in zip(jobs, outcomes, strict=True):
            if isinstance(outcome, WorkerFault):
                self._elsewhere(function, job, outcome)
            elif isinstance(outcome, CancelledError):
                job.future.cancel()
            elif isinstance(outcome, Exception):
                job.future.set_exception(outcome)
            else:
                job.future.set_result(outcome)
                self._count(job.faults)

    def _elsewhere(self, function: Callable[[Any], Any], job: _Job, fault: WorkerFault) -> None:
        job.faults.append(fault)
        tried = {one.worker for one in job.faults}
        others = set(self._cluster.workers()) - tried - self._unused
        if self._has_ended.is_set():
            job.future.cancel()
        elif others and len(tried) < MOST_WORKERS:
            self._send(function, [job])
        else:
            job.future.set_exception(fault.error)

    def _count(self, faults: Sequence[WorkerFault]) -> None:
        """Count faults of workers where another one did the same."""
        for fault in faults:
            self._failures[fault.worker] += 1
            if self._failures[fault.worker] >= MOST_FAULTS and fault.worker not in self._unused:
                self._unused.add(fault.worker)
                self._on_note(
                    f"The worker {fault.worker} on {fault.machine} is not used any more: {fault.error}"
                )

    def _fail(self, jobs: Sequence[_Job], error: Exception) -> None:
        for job in jobs:
            if not job.future.done():
                job.future.set_exception(error)


@dataclass(frozen=True)
class _Call:
    """A function of several arguments as one of a single item."""

    function: Callable[..., Any]
    named: dict[str, Any]

    def __call__(self, arguments: Sequence[Any]) -> Any:
        return self.function(*arguments, **self.named)
