"""One cell after another: each library's filters are made ready and verified, then sampled A B C A B C ..."""

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.peers.cells import Cell, pictures_of
from bench.peers.oracle import Oracle
from bench.peers.pipe import Lost, Worker
from bench.peers.summary import OURS, OURS_AUTO, ROSTERS, Entry, name_of
from engine.process import cores
from engine.results.measurement import Spread

COLD_BYTES = 256 << 20
"""Four times the L2 cache of an H200."""
MOST_COPIES = 512


@dataclass(frozen=True)
class Plan:
    """How much is sampled."""

    rounds: int = 11  # Samples of each contender, where its budget allows
    fewest: int = 3  # Samples whatever the budget says
    budget_s: float = 1.0  # Time for all samples of one contender in one cell, seconds
    cap_s: float = 4.0  # What would take longer than this for a single run is left out, and says so, seconds


@dataclass
class Contender:
    """A library's way to filter one cell, and what came of it."""

    worker: Worker
    entry: Entry
    method: str
    reason: str = ""  # Why it has no time; empty if it has
    border: str = ""
    added_error: float = 0.0
    steps: int = 1
    verified: str = ""
    note: str = ""
    clock: str = ""
    runs: int = 0
    samples_ms: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return name_of(self.entry.key, self.method)

    def as_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"verified": self.verified, "note": self.note, "reason": self.reason}
        if self.samples_ms and not self.reason:
            # Seven digits are more than any clock here has.
            statistics = Spread(tuple(self.samples_ms)).statistics
            data |= {key: float(f"{value:.7g}") for key, value in statistics.items()}
            data |= {"samples": len(self.samples_ms), "runs_a_sample": self.runs, "clock": self.clock}
        return data


class Measurement:
    """Measures cells beside peers."""

    def __init__(self, workers: list[tuple[Entry, Worker]], plan: Plan) -> None:
        self._workers, self._plan = workers, plan
        self._fastest: dict[tuple[str, str], float] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="haloscope-peers-")
        self._pictures: tuple[tuple[Any, ...], Path, np.ndarray] | None = None
        self.absent: dict[str, str] = {}
        self.facts: dict[str, dict[str, Any]] = {}

    def open(self) -> None:
        """Start every process and ask it about its library; what is not there is told in `absent`."""

        def ask(pair: tuple[Entry, Worker]) -> dict[str, Any]:
            try:
                return pair[1].ask("about", timeout_s=300.0)
            except Lost as lost:
                return {"failed": str(lost)}

        with ThreadPoolExecutor(max(1, len(self._workers))) as pool:
            answers = list(pool.map(ask, self._workers))
        available = []
        for pair, answer in zip(self._workers, answers, strict=True):
            if answer.pop("ok", False):
                self.facts[pair[0].key] = {"title": pair[0].title} | answer
                available.append(pair)
            else:
                self.absent[pair[0].key] = answer.get("refused") or answer["failed"]
                pair[1].end()
        self._workers = available

    def close(self) -> None:
        """End every process."""
        for _, worker in self._workers:
            worker.end()
        self._folder.cleanup()

    def cells(self, cells: Iterable[Cell], methods: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
        """Return what came of all contenders of each cell, or of those named, by the cell's key."""
        names = None if methods is None else set(methods)
        found = {}
        for cell in dict.fromkeys(cells):
            begin = time.perf_counter()
            contenders = self._cell(cell, names)
            found[cell.key] = {
                "cell": cell.as_json(),
                "contenders": {one.name: one.as_json() | _over_auto(one, contenders) for one in contenders},
            }
            print(_line(cell, contenders, time.perf_counter() - begin), flush=True)
        return found

    def _cell(self, cell: Cell, names: set[str] | None) -> list[Contender]:
        path, pictures = self._placed(cell)
        copies = copies_of(cell)
        oracle = Oracle(cell, pictures)

        def ready(pair: tuple[Entry, Worker]) -> list[Contender]:
            return self._ready(pair, cell, path, copies, names)

        with ThreadPoolExecutor(max(1, len(self._workers))) as pool:
            contenders = [one for found in pool.map(ready, self._workers) for one in found]
        for one in contenders:
            self._judge(one, oracle)
        self._sample([one for one in contenders if not one.reason])
        for one in contenders:
            if one.samples_ms:
                key, rate = (one.name, cell.dtype), min(one.samples_ms) / cell.multiply_adds
                self._fastest[key] = min(rate, self._fastest.get(key, rate))
        for _, worker in self._workers:
            self._ask(worker, "drop")
        return contenders

    def _placed(self, cell: Cell) -> tuple[Path, np.ndarray]:
        """Write the cell's pictures for everybody, where they are not there yet."""
        identity = (cell.batch, cell.height, cell.width, cell.channels, cell.dtype)
        if self._pictures is None or self._pictures[0] != identity:
            path = Path(self._folder.name) / "pictures.npy"
            path.unlink(missing_ok=True)
            pictures = pictures_of(cell)
            np.save(path, pictures)
            self._pictures = (identity, path, pictures)
        return self._pictures[1], self._pictures[2]

    def _ready(
        self, pair: tuple[Entry, Worker], cell: Cell, path: Path, copies: int, names: set[str] | None
    ) -> list[Contender]:
        entry, worker = pair
        methods = self._ask(worker, "methods", cell=cell.as_json()).get("methods", [])
        contenders = [Contender(worker, entry, method) for method in methods]
        contenders = [one for one in contenders if names is None or one.name in names]
        for one in contenders:
            foreseen_s = self._fastest.get((one.name, cell.dtype), 0.0) * cell.multiply_adds / 1e3
            if foreseen_s > self._plan.cap_s:
                one.reason = f"left out: one run would take about {foreseen_s:.0f} s"
                continue
            answer = self._ask(
                worker, "prepare", cell=cell.as_json(), method=one.method, pictures=str(path), copies=copies
            )
            one.reason = _reason(answer)
            one.note, one.border = answer.get("note", ""), answer.get("border", "")
            one.added_error, one.steps = answer.get("added_error", 0.0), answer.get("steps", 1)
            if not one.reason:
                answer = self._ask(worker, "verify", method=one.method, result=str(self._result_of(one)))
                one.reason = _reason(answer)
        return contenders

    def _result_of(self, one: Contender) -> Path:
        return Path(self._folder.name) / f"{one.name}.npy".replace(" ", "-")

    def _judge(self, one: Contender, oracle: Oracle) -> None:
        if one.reason:
            return
        path = self._result_of(one)
        verdict = oracle.verdict(np.load(path, mmap_mode="r"), one.border, one.added_error, one.steps)
        path.unlink()
        one.verified, one.reason = (verdict.text, "") if verdict.passed else ("", verdict.text)

    def _sample(self, contenders: list[Contender]) -> None:
        spent_s = dict.fromkeys((one.name for one in contenders), 0.0)
        for number in range(self._plan.rounds):
            for one in contenders:
                if one.reason or (number >= self._plan.fewest and spent_s[one.name] > self._plan.budget_s):
                    continue
                begin = time.perf_counter()
                answer = self._ask(one.worker, "sample", method=one.method)
                one.reason = _reason(answer)
                if not one.reason:
                    one.samples_ms.append(answer["ms"])
                    one.runs, one.clock = answer["runs"], answer["clock"]
                    # The first answer has the clock's calibration in it.
                    spent_s[one.name] += 0.0 if number == 0 else time.perf_counter() - begin

    def _ask(self, worker: Worker, do: str, **fields: Any) -> dict[str, Any]:
        try:
            return worker.ask(do, **fields)
        except Lost as lost:
            return {"failed": str(lost)}


def _over_auto(one: Contender, contenders: list[Contender]) -> dict[str, float]:
    """Return how many times longer a contender takes than `auto`: the median of the rounds' own ratios.

    What slows the machine for a while slows both samples of a round, so that it does not show here.
    """
    auto = next((other for other in contenders if other.name == OURS_AUTO and not other.reason), None)
    if auto is None or one.reason:
        return {}
    pairs = zip(one.samples_ms, auto.samples_ms, strict=False)
    return {"over_auto": float(f"{median(theirs / ours for theirs, ours in pairs):.5g}")}


def copies_of(cell: Cell) -> int:
    """Return how many copies of picture and result take turns: 1 for a warm cache, more for a cold one."""
    both_bytes = 2 * cell.picture_bytes
    return max(1, min(MOST_COPIES, math.ceil(COLD_BYTES / both_bytes))) if cell.cache == "cold" else 1


def _reason(answer: dict[str, Any]) -> str:
    if "refused" in answer:
        return f"refused: {answer['refused']}"
    return f"failed: {answer['failed']}" if "failed" in answer else ""


def _line(cell: Cell, contenders: list[Contender], took_s: float) -> str:
    parts = [
        f"{one.name} " + (f"{median(one.samples_ms) * 1e3:.1f}" if not one.reason else "-")
        for one in contenders
    ]
    return f"{cell.key}: us: {', '.join(parts)}  ({took_s:.1f} s)"


def add_arguments(parser: argparse.ArgumentParser, *, device_required: bool = True) -> None:
    """Add what `bench.peers` and `bench.check` understand."""
    parser.add_argument("--device", choices=("gpu", "cpu"), required=device_required)
    parser.add_argument("--threads", type=int, default=cores(), help="of every library on the CPU")
    parser.add_argument("--peer-python", default=sys.executable, help="the Python that has the peers")
    parser.add_argument("--commit", default="", help="for the record, where there is no git to ask")


@contextmanager
def opened(
    arguments: argparse.Namespace, plan: Plan, *, ours: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> Iterator[Measurement]:
    """Open the processes of every library, or of those with the keys `only`, and end them at the end.

    `ours` are keys of our variants: none is the library's choice, "all" every one.
    """
    workers = []
    for entry in ROSTERS[arguments.device]:
        if not only or entry.key in only:
            python = arguments.peer_python if entry.is_peer else sys.executable
            module, methods = f"bench.peers.libraries.{entry.file}", ours if entry.key == OURS else ()
            workers.append((entry, Worker(module, max(1, arguments.threads), methods, python)))
    measurement = Measurement(workers, plan)
    try:
        measurement.open()
        yield measurement
    finally:
        measurement.close()
