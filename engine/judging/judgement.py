"""A kernel that is judged, whatever it is written in, and the verdict on it, as data.

How a kernel is launched a file says in comments at its top: `// block: 32 8`, `# border: replicate`.
"""

import math
import operator
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from engine.errors import BadValue, EngineError, UnknownName, did_you_mean
from engine.geometry.border import Border
from engine.ptx import Finding, InterpretedRun
from engine.ptx.counts import Requests
from engine.ptx.launch import MOST_THREADS_PER_BLOCK as MOST_THREADS
from engine.ptx.machine import MOST_SHARED
from engine.ptx.memory import WARP

MOST_MASK_SIDE = 31
_SIDES = f"both sides of a mask are odd here, so that one cell lies in its middle, up to {MOST_MASK_SIDE}"
DTYPES = ("float32", "uint8")
_LINE = re.compile(r"\s*(?://|#)\s*(block|results|mask|border|shared|type)\s*:\s*(.*?)\s*")
# The first declaration: words behind it are the author's own.
_CODE = re.compile(r"\s*(?:@|(?:extern|template|struct|class|static|const|constexpr|using|__\w+__|def)\b)")


@dataclass(frozen=True)
class Header:
    """How a kernel is launched."""

    block: tuple[int, int, int] = (16, 16, 1)  # its threads along x, y, z
    results: tuple[int, int] | None = None  # of a block along x and y; None: one for each thread
    # Columns and rows of the one mask that the kernel takes; None: any odd ones up to 9 x 9.
    mask: tuple[int, int] | None = None
    border: Border = Border.ZERO
    shared: int = 0  # bytes of dynamic shared memory
    # Sample types: float32 or uint8. CUDA C says them in its parameters.
    dtype: str = "float32"
    result_dtype: str = "float32"

    @property
    def block_results(self) -> tuple[int, int]:
        """Results of a block along x and y."""
        return self.results or (self.block[0], self.block[1] * self.block[2])


def header_of(text: str) -> Header:
    """Return what the comment lines of a source say; raises NotJudged for a value that cannot be."""
    header = Header()
    for number, line in enumerate(text.splitlines(), start=1):
        if _CODE.match(line):
            break
        if setting := _LINE.fullmatch(line):
            try:
                header = _with(header, setting[1], setting[2])
            except EngineError as error:
                raise NotJudged(error.what, error.why, error.remedy, number) from error
    return header


def _with(header: Header, name: str, value: str) -> Header:
    what = f"the header '{name}: {value}'"
    if name == "border":
        # An unknown one is refused with all that there are.
        return replace(header, border=Border.named(value))
    if name == "type":
        dtypes = value.split()
        if not 1 <= len(dtypes) <= 2 or not {*dtypes} <= {*DTYPES}:
            remedy = "Write `type: uint8`, `type: uint8 uint8` for a result of bytes, or nothing."
            raise BadValue(what, "pictures and results are float32 or uint8", remedy)
        return replace(header, dtype=dtypes[0], result_dtype=(*dtypes, "float32")[1])
    if not re.fullmatch(r"\d{1,6}([ ,x×]+\d{1,6}){0,2}", value):
        raise BadValue(what, "it needs whole numbers, as in 'block: 32 8'")
    numbers = [int(one) for one in re.findall(r"\d+", value)]
    most = {"block": 3, "shared": 1}.get(name, 2)
    x, y, z = (*numbers, 1, 1)[:3]
    side = y if len(numbers) > 1 else x
    setting: Any = {"block": (x, y, z), "results": (x, y), "mask": (x, side), "shared": x}[name]
    for is_bad, why in (
        (len(numbers) > most, f"of its {len(numbers)} numbers {most} would be used"),
        (name != "shared" and min(numbers) < 1, "a side is at least 1"),
        (name == "shared" and x > MOST_SHARED, f"a block has at most {MOST_SHARED:,} bytes of shared memory"),
        (name == "block" and x * y * z > MOST_THREADS, f"a block has at most {MOST_THREADS:,} threads"),
        (name == "mask" and (not (x % 2 and side % 2) or max(x, side) > MOST_MASK_SIDE), _SIDES),
    ):
        if is_bad:
            raise BadValue(what, why)
    return replace(header, **{name: setting})


ARRAYS = ("image", "mask", "out")
NUMBERS = ("width", "height", "mask_width", "mask_height", "channels")
NAMES = (*ARRAYS, *NUMBERS, "border_value")
"""The names of parameters that are known."""
EXPECTED = f"Its parameters are known by their names, in any order: {', '.join(NAMES)}."


class NotJudged(EngineError, code="refused", is_refusal=True):
    """A kernel that cannot be judged: it does not compile, or is none."""

    def __init__(self, what: str, why: str = "", remedy: str = "", line: int = 0) -> None:
        super().__init__(what, why, remedy)
        self.line = line


@dataclass(frozen=True, eq=False)
class JudgedKernel:
    """A kernel that can be launched."""

    name: str
    ptx: str
    parameters: tuple[str, ...]  # names in the kernel's order
    header: Header
    is_numba: bool = False  # whether arrays are passed with their shapes


def checked_parameters(name: str, parameters: tuple[str, ...]) -> None:
    """Refuse a kernel with parameters that are not known, or without a picture or a result."""
    faults = [f"its parameter {one} is not known" for one in parameters if one not in NAMES]
    faults += [f"it has no parameter {one}" for one in ("image", "out") if one not in parameters]
    if len({*parameters}) != len(parameters):
        faults.append("two of its parameters have one name")
    if faults:
        raise NotJudged(f"the kernel {name}", faults[0], EXPECTED)


def only_one(names: list[str], wanted: str | None) -> str:
    """Return the name of the kernel that is judged; `wanted` chooses among several."""
    if wanted is not None:
        if wanted not in names:
            known = ", ".join(names) or "none"
            raise NotJudged(f"the function {wanted}", f"the file has the kernels: {known}")
        return wanted
    if not names:
        remedy = 'A kernel is `extern "C" __global__ void name(...)`, or a Python function under `@cuda.jit`.'
        raise NotJudged("the file", "it has no kernel", remedy)
    if len(names) > 1:
        remedy = "Name one of them (--function NAME); a filter in two kernels is not judged as a whole."
        raise NotJudged("the file", f"it has {len(names)} kernels: {', '.join(names)}", remedy)
    return names[0]


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
        What it requests of memory in the largest launch, by the names that gates know.
    lines : dict of int to dict
        The requests of each line of the source there.
    gates : tuple of Gate
    device : str
        What a GPU reports of it, where one runs it: its name and the time of the largest launch.
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


_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq}
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


def metrics_of(kernel: JudgedKernel, run: InterpretedRun, results: int) -> dict[str, float]:
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


def lines_of(run: InterpretedRun) -> dict[int, dict[str, dict[str, int]]]:
    """Return the requests of each line of the kernel's own source, by memory and kind."""
    lines: dict[int, dict[str, Requests]] = defaultdict(lambda: defaultdict(Requests))
    for key, requests in run.counts.accesses.items():
        line = run.machine.kernel.instructions[key.number].line.own.line
        lines[line][f"{key.space} {key.kind}"] += requests
    return {line: {kind: asdict(one) for kind, one in kinds.items()} for line, kinds in lines.items()}


def gate_of(text: str) -> Callable[[dict[str, float], dict[str, float]], Gate]:
    """Return what checks a requirement such as "sectors per request <= 4.5"; refuses any other text."""
    if (comparison := _GATE.fullmatch(text)) is None:
        remedy = f'Write for example "sectors per request <= 4.5". Known are: {", ".join(METRICS)}.'
        raise BadValue(f"the requirement '{text}'", "it is no comparison of a count with a number", remedy)
    name, sign, limit = comparison[1], comparison[2], float(comparison[3])
    if name not in METRICS:
        remedy = f"{did_you_mean(name, METRICS)}Known are: {', '.join(METRICS)}."
        raise UnknownName(f"the count '{name}'", "nothing of that name is counted", remedy)

    def check(own: dict[str, float], naive: dict[str, float]) -> Gate:
        return Gate(text.strip(), own[name], naive[name], _COMPARE[sign](own[name], limit))

    return check
