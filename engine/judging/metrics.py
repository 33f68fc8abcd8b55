"""What a judged kernel asks of memory: the names that `--require` knows, and the requests of each line."""

import operator
import re
from collections.abc import Callable
from dataclasses import asdict

from engine.errors import BadValue, UnknownName, closest
from engine.judging.judgement import Gate
from engine.ptx import Run
from engine.ptx.counts import Requests

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


def metrics_of(run: Run, results: int, blocks: int, warps: int) -> dict[str, float]:
    """Return the metrics of a launch with so many results, blocks, and warps in a block."""
    counts = run.counts
    loads, stores = _requests_to(run, "image", "loads", "copies"), _requests_to(run, "out", "stores")
    shared = counts.total("shared", "loads", "stores")
    executed = sum(threads for _, _, threads in run.executed)
    lanes = sum(32 * of_warps for _, of_warps, _ in run.executed)
    return {
        "sectors per request": _share(loads.sectors, loads.requests),
        "sectors per store": _share(stores.sectors, stores.requests),
        "loads per result": loads.bytes / run.machine.layout.itemsize_of("image") / results,
        "stores per result": stores.bytes / run.machine.layout.itemsize_of("out") / results,
        "wavefronts per request": _share(shared.wavefronts, shared.requests),
        "shared bytes": float(run.machine.shared_bytes),
        "barriers per block": counts.barriers / (blocks * warps),
        "instructions per result": executed / results,
        "idle lanes": 1 - executed / lanes if lanes else 0.0,
    }


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _requests_to(run: Run, array: str, *kinds: str) -> Requests:
    """Return the requests of some kinds to an array in global memory."""
    return Requests.together(
        requests
        for key, requests in run.counts.accesses.items()
        if key.space == "global" and key.array == array and key.kind in kinds
    )


def lines_of(run: Run) -> dict[int, dict[str, dict[str, int]]]:
    """Return the requests of each line of the kernel's own source, by memory and kind."""
    found: dict[int, dict[str, dict[str, int]]] = {}
    for line, kinds in run.counts.by_line().items():
        own = found.setdefault(line.own.line, {})
        for (space, kind), requests in kinds.items():
            known = own.setdefault(f"{space} {kind}", dict.fromkeys(asdict(requests), 0))
            for name, value in asdict(requests).items():
                known[name] += value
    return found


def gate_of(text: str) -> Callable[[dict[str, float], dict[str, float] | None], Gate]:
    """Return what checks a requirement such as "sectors per request <= 4.5"; refuses any other text."""
    found = _GATE.fullmatch(text)
    if found is None:
        remedy = f'Write for example "sectors per request <= 4.5". Known are: {", ".join(METRICS)}.'
        raise BadValue(f"the requirement '{text}'", "it is no comparison of a count with a number", remedy)
    name, sign, limit = found[1], found[2], float(found[3])
    if name not in METRICS:
        near = closest(name, METRICS)
        remedy = f"{f'Did you mean {near}? ' if near else ''}Known are: {', '.join(METRICS)}."
        raise UnknownName(f"the count '{name}'", "nothing of that name is counted", remedy)

    def check(own: dict[str, float], naive: dict[str, float] | None) -> Gate:
        value = own[name]
        return Gate(text.strip(), value, None if naive is None else naive[name], _COMPARE[sign](value, limit))

    return check
