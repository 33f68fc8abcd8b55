"""The verdict on a kernel, as data: right, wrong, faulty or refused, with findings and counts."""

import math
import operator
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

import numpy as np

from engine.errors import BadValue, UnknownName, did_you_mean
from engine.judging.source import JudgedKernel
from engine.ptx import Finding, Run
from engine.ptx.active import WARP
from engine.ptx.counts import Requests

FORMAT, VERSION = "haloscope-judgement", 1


class Verdict(StrEnum):
    """What a kernel is."""

    RIGHT = "right"
    WRONG = "wrong"
    FAULTY = "faulty"  # the picture is right, but the kernel has a fault
    REFUSED = "refused"


@dataclass(frozen=True)
class Gate:
    """A property that was required, what the kernel has, what `naive` has, and whether it holds."""

    text: str
    value: float
    naive: float
    holds: bool


@dataclass(frozen=True)
class Judgement:
    """The verdict on one kernel.

    Parameters
    ----------
    kernel : str
        The name of its function; empty where none was found.
    verdict : Verdict
    findings : tuple of Finding
    launches : tuple of str
        The launches that were made.
    metrics : dict of str to float
        What it asks of memory in the largest launch, by the names that gates know.
    lines : dict of int to dict
        The requests of each line of the source there.
    gates : tuple of Gate
    device : str
        What a GPU said of it, where one was asked: its name and the time of the largest launch.
    wrong : ndarray of bool of shape (H, W), optional
        Where the first wrong result is wrong.
    """

    kernel: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    launches: tuple[str, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    lines: dict[int, dict[str, dict[str, int]]] = field(default_factory=dict)
    gates: tuple[Gate, ...] = ()
    device: str = ""
    wrong: np.ndarray | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return "\n  ".join([f"{self.kernel or 'the kernel'}: {self.verdict}", *map(str, self.findings)])

    @property
    def passed(self) -> bool:
        """Whether it is right and every gate holds."""
        return self.verdict is Verdict.RIGHT and all(one.holds for one in self.gates)

    def as_json(self) -> dict[str, object]:
        """Return the judgement as plain data for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kernel": self.kernel,
            "verdict": str(self.verdict),
            "findings": [
                {"kind": one.kind, "line": one.line, "lines": one.numbers, "message": one.message}
                for one in self.findings
            ],
            "launches": list(self.launches),
            "counts": {
                "all": self.metrics,
                "lines": {str(line): counts for line, counts in sorted(self.lines.items())},
            },
            "device": self.device,
            "gates": [
                {"require": one.text, "value": one.value, "naive": one.naive, "holds": one.holds}
                for one in self.gates
            ],
        }


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
}
_GATE = re.compile(r"\s*([a-z ]+?)\s*(<=|>=|==|<|>)\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*")
METRICS = {
    "sectors per request": "sectors of 32 bytes that a warp's load from the picture takes",
    "sectors per store": "the same of its stores to the result",
    "loads per result": "loads from the picture, of all threads, for each result",
    "stores per result": "stores to the result, of all threads, for each result",
    "wavefronts per request": "passes over the banks of shared memory per access; 1 without conflicts",
    "shared bytes": "shared memory of a block",
    "barriers per block": "times that the warps of a block wait at a barrier, for each warp",
    "instructions per result": "instructions of PTX that threads execute, for each result",
    "idle lanes": "share of lanes that take no part in what their warps execute",
}
"""What gates know, each with what it is."""


def metrics_of(kernel: JudgedKernel, run: Run, results: int) -> dict[str, float]:
    """Return the metrics of a launch with so many results."""
    counts, machine = run.counts, run.machine
    loads = counts.total("global", "loads", "copies", array="image")
    stores = counts.total("global", "stores", array="out")
    shared = counts.total("shared", "loads", "stores")
    executed = sum(threads for _, _, threads in run.executed)
    lanes = sum(32 * of_warps for _, of_warps, _ in run.executed)
    return {
        "sectors per request": loads.sectors_per_request or 0.0,
        "sectors per store": stores.sectors_per_request or 0.0,
        "loads per result": loads.bytes / np.dtype(kernel.header.dtype).itemsize / results,
        "stores per result": stores.bytes / np.dtype(kernel.header.result_dtype).itemsize / results,
        "wavefronts per request": shared.wavefronts_per_request or 0.0,
        "shared bytes": float(machine.shared_bytes),
        "barriers per block": counts.barriers / (math.prod(machine.grid) * machine.row // WARP),
        "instructions per result": executed / results,
        "idle lanes": 1 - executed / lanes if lanes else 0.0,
    }


def lines_of(run: Run) -> dict[int, dict[str, dict[str, int]]]:
    """Return the requests of each line of the kernel's own source, by memory and kind."""
    found: dict[int, dict[str, Requests]] = defaultdict(lambda: defaultdict(Requests))
    for key, requests in run.counts.accesses.items():
        line = run.machine.kernel.instructions[key.number].line.own.line
        found[line][f"{key.space} {key.kind}"] += requests
    return {line: {kind: asdict(one) for kind, one in kinds.items()} for line, kinds in found.items()}


def gate_of(text: str) -> Callable[[dict[str, float], dict[str, float]], Gate]:
    """Return what checks a requirement such as "sectors per request <= 4.5"; refuses any other text."""
    found = _GATE.fullmatch(text)
    if found is None:
        remedy = f'Write for example "sectors per request <= 4.5". Known are: {", ".join(METRICS)}.'
        raise BadValue(f"the requirement '{text}'", "it is no comparison of a count with a number", remedy)
    name, sign, limit = found[1], found[2], float(found[3])
    if name not in METRICS:
        remedy = f"{did_you_mean(name, METRICS)}Known are: {', '.join(METRICS)}."
        raise UnknownName(f"the count '{name}'", "nothing of that name is counted", remedy)

    def check(own: dict[str, float], naive: dict[str, float]) -> Gate:
        return Gate(text.strip(), own[name], naive[name], _COMPARE[sign](own[name], limit))

    return check
