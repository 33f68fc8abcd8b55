"""What a library's file gives: facts, and filters made ready. NumPy alone: peers' processes load this."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from bench.peers.cells import Cell, CellMask

# A host sample shorter than this would show the scheduler; a device sample the events' own half microsecond.
HOST_SAMPLE_S = 10e-3
HOST_WARM_S = 5e-3
# What runs longer than this is not run once more only to warm up.
LONG_RUN_S = 0.2


class Refused(Exception):
    """The library cannot do that; the text says why."""


@dataclass(frozen=True)
class Job:
    """A cell with its data."""

    cell: Cell
    pictures: np.ndarray  # Read-only
    mask: CellMask
    copies: int  # Copies of the pictures and of the results, used alternately; 1 where the cache is warm
    threads: int


class Filter(Protocol):
    """A filter made ready on data that is already where it is needed."""

    def run(self, copy: int) -> None:
        """Filter the pictures of one copy; on a device: enqueue it."""

    def results(self) -> np.ndarray:
        """Wait, and return what the first copy's run gave, (batch, H, W, C)."""


class Clock(Protocol):
    """Times a filter."""

    name: str

    def sample(self) -> tuple[float, int]:
        """Return milliseconds per run and the number of runs behind it; what warms up is not in it."""


@dataclass(frozen=True)
class Ready:
    """A filter with its clock, and what has to be known to compare it."""

    filter: Filter
    clock: Callable[[], Clock]  # Called when the results are verified
    # "zero" as asked; "replicate" where the library has no other; "interior": the border's results do not
    # count; "copy": nothing is filtered, the result is the picture
    border: str = "zero"
    note: str = ""  # For people: what was really called
    # What a result of our own may be off beyond the rounding of a direct sum, as a part of the largest sample
    # (`Variant.added_error`). Peers are granted nothing.
    added_error: float = 0.0
    steps: int = 1  # What an 8-bit result may be off; ours promise to round half to even


@dataclass(frozen=True)
class About:
    """Facts about a library."""

    versions: dict[str, str]
    threads: int = 0  # That it uses; 0 where a GPU computes
    notes: dict[str, Any] = field(default_factory=dict)  # Numbers and words for the record


class Library(Protocol):
    """One file of `libraries`: `open_library(threads, methods)` returns one of these, or raises `Refused`."""

    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        """Open it with so many threads; `methods` are keys of our variants."""

    def about(self) -> About:
        """Return facts; called once, before anything else."""

    def methods(self, cell: Cell) -> tuple[str, ...]:
        """Return the names of the ways in which this library can do a cell; empty where it has none."""

    def prepare(self, job: Job, method: str) -> Ready:
        """Return a filter that has everything it needs; may raise `Refused`."""


def blank(shape: tuple[int, ...], dtype: np.dtype | type | str) -> np.ndarray:
    """Return an array whose every sample is wrong: NaN, or 170 in whole numbers."""
    return np.full(shape, _wrong(np.dtype(dtype)), dtype)


def _wrong(dtype: np.dtype) -> float:
    return np.nan if dtype.kind == "f" else 170


def plain(picture: np.ndarray) -> np.ndarray:
    """Return (H, W, C) without the last axis where there is one channel."""
    return picture[..., 0] if picture.shape[-1] == 1 else picture


@dataclass
class HostFilter:
    """Runs a function on host arrays, one picture after another."""

    job: Job
    one: Callable[[np.ndarray, np.ndarray], object]  # Both (H, W), or (H, W, C) for several channels
    # Returns the array for a result, (H, W, C), as the library's callers get it
    empty: Callable[[np.ndarray], np.ndarray] = np.empty_like

    def __post_init__(self) -> None:
        self._in = [np.array(self.job.pictures) for _ in range(self.job.copies)]
        self._out = [[self.empty(picture) for picture in pictures] for pictures in self._in]
        for results in self._out:
            for result in results:
                result.fill(_wrong(result.dtype))

    def run(self, copy: int) -> None:
        for picture, result in zip(self._in[copy], self._out[copy], strict=True):
            self.one(plain(picture), plain(result))

    def results(self) -> np.ndarray:
        return np.stack(self._out[0])


@dataclass
class HostClock:
    """The host's monotonic clock around runs that return when they are done."""

    run: Callable[[int], None]
    copies: int
    name: str = "host clock"

    def __post_init__(self) -> None:
        self._next = 0
        begin = time.perf_counter()
        self._once()
        once_s = time.perf_counter() - begin
        self._runs = max(1, round(HOST_SAMPLE_S / max(once_s, 1e-7)))
        self._warm_s = HOST_WARM_S if once_s < LONG_RUN_S else 0.0

    def _once(self) -> None:
        self.run(self._next)
        self._next = (self._next + 1) % self.copies

    def sample(self) -> tuple[float, int]:
        begin = time.perf_counter()
        while time.perf_counter() - begin < self._warm_s:
            self._once()
        begin = time.perf_counter()
        for _ in range(self._runs):
            self._once()
        return (time.perf_counter() - begin) * 1e3 / self._runs, self._runs


def host_ready(
    job: Job,
    one: Callable[[np.ndarray, np.ndarray], object],
    empty: Callable[[np.ndarray], np.ndarray] = np.empty_like,
    **fields: Any,
) -> Ready:
    """Return a filter on host arrays with a host clock; `empty` as for `HostFilter`, fields as of `Ready`."""
    made = HostFilter(job, one, empty)
    return Ready(made, lambda: HostClock(made.run, job.copies), **fields)
