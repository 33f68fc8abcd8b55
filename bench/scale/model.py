"""A cluster as queues: workers take tasks from one scheduler, and read and write through one shared storage.

What is simulated, event by event:

- The scheduler is one server. Each task costs it a fixed time, when it is given to a worker. A worker has one
  more task waiting while it works on one, as in Dask; it asks for the next when it is done with one.
- A task reads, computes and writes, one after the other, on one worker; a worker does one task at a time.
- The storage gives each transfer that is under way an equal share of its rate, and at most a worker's own.
"""

import heapq
import itertools
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """What one task takes: bytes from and to the storage, and seconds of its worker."""

    read_bytes: float
    compute_s: float
    write_bytes: float


@dataclass(frozen=True)
class Cluster:
    """What the workers share."""

    scheduler_s: float  # for each task
    storage_rate: float  # bytes per second, of all workers together
    link_rate: float = float("inf")  # of one worker


@dataclass(frozen=True)
class Run:
    """How long a run took, and how long each of the shared things and the workers were busy."""

    elapsed_s: float
    scheduler_s: float
    storage_s: float
    workers_s: float  # computing, by worker, on average


class _Storage:
    """Equal shares: by a clock that counts the bytes that every transfer has had since the beginning."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._bytes = self._at_s = self.busy_s = 0.0
        self._ends: list[tuple[float, int, int]] = []  # clock at the end, order, worker
        self._order = itertools.count()

    def _rate(self) -> float:
        return min(self._cluster.link_rate, self._cluster.storage_rate / len(self._ends))

    def advance(self, now_s: float) -> None:
        """Move the clock to a time before which no transfer ends."""
        if self._ends:
            self._bytes += self._rate() * (now_s - self._at_s)
            self.busy_s += now_s - self._at_s
        self._at_s = now_s

    def begin(self, worker: int, size: float) -> None:
        """Begin a transfer at the time that the clock has."""
        heapq.heappush(self._ends, (self._bytes + size, next(self._order), worker))

    def next_end_s(self) -> float:
        """Return when the next transfer ends, if nothing changes."""
        if not self._ends:
            return float("inf")
        return self._at_s + max(0.0, self._ends[0][0] - self._bytes) / self._rate()

    def end(self) -> int:
        """End that transfer, at its time; return its worker."""
        self._bytes = self._ends[0][0]
        return heapq.heappop(self._ends)[2]


def simulated(tasks: int, workers: int, task: Task, cluster: Cluster) -> Run:
    """Return how long so many equal tasks take; everything is idle at the beginning."""
    storage, now_s, scheduler_free_s = _Storage(cluster), 0.0, 0.0
    events: list[tuple[float, int, str, int]] = []  # time, order, what, worker
    order, left = itertools.count(), tasks
    waiting, is_busy = [0] * workers, [False] * workers
    steps: list[deque[str]] = [deque() for _ in range(workers)]

    def at(time_s: float, what: str, worker: int) -> None:
        heapq.heappush(events, (time_s, next(order), what, worker))

    def ask(worker: int) -> None:
        nonlocal left, scheduler_free_s
        if left:
            left -= 1
            scheduler_free_s = max(scheduler_free_s, now_s) + cluster.scheduler_s
            at(scheduler_free_s, "given", worker)

    def go_on(worker: int) -> None:
        """Begin a worker's next step, or its next task."""
        if not steps[worker]:
            is_busy[worker] = waiting[worker] > 0
            if not is_busy[worker]:
                return
            waiting[worker] -= 1
            steps[worker].extend(("read", "compute", "write", "done"))
        step = steps[worker].popleft()
        if step == "compute":
            at(now_s + task.compute_s, "computed", worker)
        elif step == "done":
            ask(worker)
            go_on(worker)
        elif size := (task.read_bytes if step == "read" else task.write_bytes):
            storage.begin(worker, size)
        else:
            go_on(worker)

    for _ in range(2):
        for worker in range(workers):
            ask(worker)
    while events or storage.next_end_s() < float("inf"):
        transfer_s = storage.next_end_s()
        if events and events[0][0] <= transfer_s:
            now_s, _, what, worker = heapq.heappop(events)
            storage.advance(now_s)
            waiting[worker] += what == "given"
            if what == "computed" or not is_busy[worker]:
                go_on(worker)
        else:
            now_s = transfer_s
            storage.advance(now_s)
            go_on(storage.end())
    return Run(now_s, tasks * cluster.scheduler_s, storage.busy_s, tasks * task.compute_s / workers)


def limit_of(run: Run) -> str:
    """Return what was busy for the largest share of a run."""
    shares = {"scheduler": run.scheduler_s, "storage": run.storage_s, "workers": run.workers_s}
    return max(shares, key=lambda name: shares[name])


def least_task_s(workers: int, scheduler_s: float, scheduler_tasks: float = 1.0, share: float = 0.1) -> float:
    """Return the shortest task with which the scheduler is busy for at most that share of the time."""
    return workers * scheduler_tasks * scheduler_s / share
