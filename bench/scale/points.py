"""Measured points: tasks on a Dask cluster of one and of two processes of this machine."""

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import zarr

import engine
from bench.scale.rates import forget, mask_of, picture
from engine.cluster import SchedulerAddress, connected
from engine.device.per_thread import launches_on

WORKERS = (1, 2)
CORES = 2
SIDES = {512: 64, 2048: 9}
"""Sides of chunks, and how many there are; squares."""
RAW_BYTES, RAW_FILES = 1 << 25, 12
REPEATS = 4


def nothing(number: int) -> int:
    """Return at once."""
    return number


@lru_cache
def opened(path: str) -> Any:
    """Return a Zarr array, which a worker opens once."""
    return zarr.open_array(path, mode="r+")


def filter_chunk(number: int, source: str, target: str, mask: np.ndarray) -> None:
    """Read a chunk of a Zarr picture, filter it on one core, and write it into another one."""
    read, written = opened(source), opened(target)
    side = read.chunks[0]
    row, column = (side * place for place in divmod(number, read.shape[1] // side))
    chunk = np.asarray(read[row : row + side, column : column + side])
    with launches_on(1):
        written[row : row + side, column : column + side] = engine.correlate(chunk, mask, device="cpu")


def read_raw(number: int, folder: str) -> int:
    """Read a file that is not in memory."""
    with Path(folder, str(number)).open("rb", buffering=0) as file:
        return sum(len(part) for part in iter(lambda: file.read(1 << 24), b""))


def used_s() -> tuple[float, float]:
    """Return the CPU time of this machine so far, and that of this process and its children."""
    times, own = psutil.cpu_times(), psutil.Process()
    found = [own.cpu_times(), *(child.cpu_times() for child in own.children(recursive=True))]
    whole = sum(getattr(times, name, 0.0) for name in ("user", "nice", "system", "irq", "softirq", "steal"))
    return whole, sum(one.user + one.system for one in found)


class Workers:
    """Workers as `--scheduler local:N` starts them, and the CPU time that they take."""

    def __init__(self, count: int) -> None:
        self._connected = connected(SchedulerAddress.parse(f"local:{count}"))
        self._client = self._connected.__enter__()

    def times_s(self, call: Any, numbers: range, *given: object) -> tuple[float, float]:
        """Return how long so many tasks take, and the share of the cores that others had meanwhile."""
        whole_s, own_s = used_s()
        begin_s = time.perf_counter()
        futures = self._client.map(call, list(numbers), *([one] * len(numbers) for one in given), pure=False)
        self._client.gather(futures)
        taken_s, after = time.perf_counter() - begin_s, used_s()
        others_s = (after[0] - whole_s) - (after[1] - own_s)
        return taken_s, max(0.0, others_s) / (taken_s * CORES)

    def close(self) -> None:
        self._connected.__exit__(None, None, None)


def overhead(workers: Workers, tasks: int = 500) -> dict[str, float]:
    """Return what a task that does nothing takes of the scheduler's process, and what it takes one worker.

    The former is CPU time, the latter has the wait for the next task in it.
    """
    workers.times_s(nothing, range(200))
    found = []
    for _ in range(5):
        begin_s = time.process_time()
        taken_s, _ = workers.times_s(nothing, range(tasks))
        found.append(((time.process_time() - begin_s) / tasks, taken_s / tasks))
    return {"scheduler_s": min(one for one, _ in found), "worker_s": min(one for _, one in found)}


def measured_points(folder: Path) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return the overhead of a task, and each kind of task with the times that many of them took."""
    kinds: list[dict[str, Any]] = [{"what": "nothing", "tasks": 500}]
    for side, tasks in SIDES.items():
        samples = picture(side, side)
        sides = (side * int(tasks**0.5),) * 2
        for name in ("in", "out"):
            made = zarr.create_array(folder / f"{name}-{side}", shape=sides, chunks=(side, side), dtype="f4")
            if name == "in":
                for number in range(tasks):
                    row, column = (side * place for place in divmod(number, sides[1] // side))
                    made[row : row + side, column : column + side] = samples
        kinds += [{"what": "chunk", "side": side, "mask": mask, "tasks": tasks} for mask in (5, 15)]
    raw = np.random.default_rng(1).bytes(RAW_BYTES)
    kinds.append({"what": "disk", "tasks": RAW_FILES})
    for number in range(RAW_FILES):
        (folder / str(number)).write_bytes(raw)
    points, costs = [], {}
    for count in WORKERS:
        workers = Workers(count)
        try:
            if count == 1:
                costs = overhead(workers)
            times: list[list[tuple[float, float]]] = [[] for _ in kinds]
            # In turn, so that what others do at a time does not meet one kind alone.
            for _ in range(REPEATS + 1):
                for kind, found in zip(kinds, times, strict=True):
                    found.append(_times_s(workers, kind, folder))
        finally:
            workers.close()
        for kind, found in zip(kinds, times, strict=True):
            elapsed_s, others = min(found[1:])
            points.append(kind | {"workers": count, "elapsed_s": elapsed_s, "others": round(others, 3)})
    return costs, points


def _times_s(workers: Workers, kind: dict[str, Any], folder: Path) -> tuple[float, float]:
    numbers = range(kind["tasks"])
    if kind["what"] == "nothing":
        return workers.times_s(nothing, numbers)
    if kind["what"] == "disk":
        for number in numbers:
            forget(folder / str(number))
        return workers.times_s(read_raw, numbers, str(folder))
    place = [str(folder / f"{name}-{kind['side']}") for name in ("in", "out")]
    return workers.times_s(filter_chunk, numbers, *place, mask_of(kind["mask"]))
