"""The tables and files of runs, for the window and the command line: columns, JSON with every sample, CSV.

Columns are facts in words, and every metric. Here are the facts of every task; a task has its own in `FACTS`
of the module that its problem names.

What was measured on another machine and comes with the program is read when it is first needed: `python -m
bench.recorded` writes it. A machine without a GPU shows it beside its own, always marked.
"""

import csv
import gzip
import io
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic

from engine.device_info import RECORDED, DeviceInfo
from engine.files.reading import ASSETS, Json, faults_of_asset
from engine.results.measurement import AnyResult
from engine.results.metrics import SPEED_UP_OF, AnyMetric, Compared, ComparedRun, metrics_of
from engine.results.problem import MODEL_OF_WORK, P_contra, TaskProblem
from engine.results.text_forms import MISSING, NON_FINITE, harmless

KERNEL, SPEED_UP = "kernel_median_ms", "speed_up"


@dataclass(frozen=True, slots=True)
class Fact(Generic[P_contra]):
    """A column of words about a run of a problem P; a metric is one of numbers."""

    key: str
    header: str
    explanation: str
    text: Callable[[ComparedRun[P_contra]], str]  # the text of a cell
    # The number that it is sorted by, None for a row without one; else it is sorted by the text.
    number: Callable[[ComparedRun[P_contra]], float | None] | None = None
    shown: bool = True  # whether tables show it at first
    caption: str = ""  # shown once above the table where all rows have the same value; empty: never
    of_problem: bool = False  # whether it belongs to what is computed, not to how

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers, aligned on the right."""
        return self.number is not None and not self.of_problem

    def sort(self, run: ComparedRun[P_contra]) -> str | float | None:
        """Return the sort key of a run; None where it has no such number."""
        return self.text(run) if self.number is None else self.number(run)

    def pasted(self, run: ComparedRun[P_contra]) -> str:
        """Return the text of a cell in one line, which no spreadsheet takes for a formula."""
        return harmless(" ".join(self.text(run).split()))


AnyFact = Fact[Any]
Column = AnyMetric | AnyFact


def facts_of(problem: TaskProblem | type[TaskProblem]) -> tuple[AnyFact, ...]:
    """Return the facts of a problem's task, or of a class of problems: what was computed, then how.

    A task's own fact takes the place of one of every task with the same key.
    """
    own: tuple[AnyFact, ...] = import_module(problem.columns_module).FACTS[problem.task]
    what, how = ([fact for fact in own if fact.of_problem is wanted] for wanted in (True, False))
    return tuple({fact.key: fact for fact in (*what, VARIANT, *how, *FACTS)}.values())


def columns_of(*problems: TaskProblem | type[TaskProblem], first: Iterable[str] = ()) -> tuple[Column, ...]:
    """Return every column of a task: those of `first`, then the other metrics, then the other facts.

    Of several tasks: those of all, with a dash where the task of a run does not have a fact.
    """
    by_key: dict[str, Column] = {metric.key: metric for problem in problems for metric in metrics_of(problem)}
    facts = {problem.task: {fact.key: fact for fact in facts_of(problem)} for problem in problems}
    for key, fact in [item for of_task in facts.values() for item in of_task.items()]:
        owners = {task for task, of_task in facts.items() if key in of_task}
        by_key.setdefault(key, fact if len(owners) == len(facts) else _only_of(owners, fact))
    order = dict.fromkeys((*(key for key in first if key in by_key), *by_key))
    return tuple(by_key[key] for key in order)


def _only_of(tasks: set[str], fact: AnyFact) -> AnyFact:
    """Return a fact of some tasks for a table with runs of others too."""

    def number_of(run: Compared) -> float | None:
        return fact.number(run) if fact.number is not None and run.result.task in tasks else None

    def text_of(run: Compared) -> str:
        return fact.text(run) if run.result.task in tasks else MISSING

    return replace(fact, text=text_of, number=fact.number and number_of)


def repeated(columns: Sequence[Column], runs: Sequence[Compared]) -> dict[str, str]:
    """Return the facts that are the same for all runs, in words, by the key of their column."""
    captions = {}
    facts = [column for column in columns if isinstance(column, Fact) and column.caption]
    # What was computed, then how.
    for fact in sorted(facts, key=lambda fact: not fact.of_problem):
        texts = {fact.text(run) for run in runs}
        if len(texts) == 1:
            (text,) = texts
            captions[fact.key] = "" if text == MISSING else fact.caption.format(text)
    return captions


def problem_text(result: AnyResult) -> str:
    """Return the problem of a run in words: 512 x 512 grey uint8, mask 3 x 3, border zero."""
    facts = [fact for fact in facts_of(result.problem) if fact.of_problem]
    return ", ".join(repeated(facts, [Compared(result)]).values())


def table_text(columns: Sequence[Column], runs: Iterable[Compared], baseline: str) -> str:
    """Return a table as lines with tabs, as spreadsheets and documents take them when pasted.

    Numbers have six significant digits, whatever the table shows.
    """
    headers = {column.key: column.header for column in columns} | {SPEED_UP: f"Speed-up vs {baseline}"}
    lines = [[headers[column.key] for column in columns]]
    lines += [[column.pasted(run) for column in columns] for run in runs]
    return "".join("\t".join(line) + "\n" for line in lines)


def device_text(result: AnyResult) -> str:
    """Return where a run ran: cpu, cuda:0, cuda:0 on user@server; a recorded one: recorded, NVIDIA H200."""
    if result.device == RECORDED:
        return f"{RECORDED}, {result.environment.device}"
    server = server_of(result)
    return f"{result.device} on {server}" if server else result.device


def server_of(result: AnyResult) -> str:
    """Return the server that computed a run; empty for this computer, and for one of a recording."""
    _, on, server = result.environment.device.rpartition(" on ")
    return server if on and result.device != RECORDED else ""


def layout_suffix(result: AnyResult) -> str:
    """Return " (packed)" for a run with packed rows; pitched rows are the default."""
    return " (packed)" if result.layout == "packed" else ""


# fmt: off
VARIANT: Fact[TaskProblem] = Fact(
    "variant", "Variant", "How it was computed.", lambda run: run.result.variant
)
FACTS: tuple[Fact[TaskProblem], ...] = (
    Fact("device", "Device", "Where it ran; a recorded run came with the program, from the machine named.",
         lambda run: device_text(run.result), caption="{}"),
    Fact("run", "Run", "Number of the run, in the order in which they arrived.",
         lambda run: str(run.number), lambda run: run.number, shown=False),
    Fact("baseline_run", "Baseline run", "Number of the run that the speed-up is against.",
         lambda run: str(run.baseline_run or MISSING), lambda run: run.baseline_run, shown=False),
    Fact("proof", "Proof",
         "Whether the result agrees with the float64 reference within its rounding bound, or why not.",
         lambda run: run.result.status if run.result.is_refuted else run.result.proof),
)
# fmt: on
"""The facts of every task that come after its own."""


FOLDER = ASSETS / "recorded"
RUNS, COURSE = "runs", "course"
"""What there is: runs of filters with the limits of their GPU, and the tables of the course papers."""


def recorded_path(what: str) -> Path:
    """Return the file of the recorded runs or tables."""
    return FOLDER / f"{what}.json.gz"


@cache
def recorded_document(what: str) -> Json:
    """Return what was recorded as plain data; nothing where this version came without it.

    Raises EngineError where the file is damaged.
    """
    path = recorded_path(what)
    if not path.exists():
        return {}
    with faults_of_asset(path, "The recording"):
        document = json.loads(gzip.decompress(path.read_bytes()))
        if not isinstance(document, dict):
            raise ValueError("it is not a table")
        return document


FORMAT, VERSION = "haloscope-results", 2

Cell = str | float | int | None

UNITS = {
    "names that end in _ms": "milliseconds",
    "problem of a filter": "pixels; cval in units of the picture's samples",
    "problem of a product": "C = A B: A is rows × inner, B is inner × columns; float32",
    "problem of a network": "batch drawings of side × side; maps of both convolutions, hidden, classes",
    "checked_pixels, total_pixels": "pixels of a picture, elements of C, scores of a network",
    "max_error, bound": "units of the samples; where in_steps is true, steps of a result of 8 or 16 bit",
    "block": "threads across (x) and down (y); for a product a square whose side is the tile",
    "baseline, speed_up": f"{SPEED_UP_OF}; null where either has no speed",
    "baseline_run": "`run` of the result that speed_up is against",
    "device": 'where it ran; "recorded" where another machine did, which `environment` names',
    "refused": "whether this cannot be done at all, so that nothing was tried; `failure` says why",
    "layout": "of the rows on a CUDA device: each on a 128-byte boundary (pitched), or dense (packed)",
    "weights_digest": "of the weights of the mask, or of a chain's steps; runs with others are not compared",
    "steps": "of a chain, each timed by itself; ms is null where it was not",
    "work": MODEL_OF_WORK,
    "numbers written as strings": NON_FINITE,
}


def machine_document(
    devices: Iterable[DeviceInfo], versions: Mapping[str, str], commit: str
) -> dict[str, object]:
    """Return the machine, its devices and the versions as plain data."""
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "versions": dict(versions),
        "commit": commit,
        "devices": [device.as_json() for device in devices],
    }


def results_document(
    runs: Sequence[Compared], baseline: str, machine: dict[str, object], **settings: object
) -> dict[str, object]:
    """Return everything about runs as plain data, with a `machine_document` and the `settings` by name."""
    metrics = {
        metric.key: metric
        for problem in dict.fromkeys(type(run.result.problem) for run in runs)
        for metric in metrics_of(problem)
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "units": UNITS,
        "metrics": {
            key: {"title": metric.title, "unit": metric.unit, "explanation": metric.explanation}
            for key, metric in metrics.items()
        },
        "baseline": baseline,
        **settings,
        "environment": machine,
        "results": [
            {"run": run.number}
            | run.result.as_json()
            | {metric.key: metric.value(run) for metric in metrics_of(run.result.problem)}
            | {"baseline_run": run.baseline_run}
            for run in runs
        ],
    }


def results_csv(runs: Sequence[Compared], baseline: str) -> str:
    """Return runs as CSV with units in the header; raw samples are in the JSON only.

    Only verified, not simulated runs have times; a cell without a value is empty, and
    `status` says why. Text that a spreadsheet could take for a formula gets a leading '.
    """
    rows = [_row(run, baseline) for run in runs]
    header = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    for row in rows:
        cells = (row.get(name) for name in header)
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()


def _row(run: Compared, baseline: str) -> dict[str, Cell]:
    result, environment = run.result, run.result.environment
    timing = result.timing if result.kernel_ms is not None else None
    return {
        "run": run.number, "task": result.task, "variant": result.variant, "title": result.title,
        "device": result.device,
        "block_x_threads": result.block.x if result.block else None,
        "block_y_threads": result.block.y if result.block else None,
        "layout": result.layout or None,
        **result.problem.csv_columns(),
        **({"mask": result.mask_name, "weights_digest": result.weights_digest} if result.mask_name else {}),
        **{metric.key: metric.value(run) for metric in metrics_of(result.problem)},
        **{f"step_{step.id}_ms": step.ms for step in result.steps},
        "clock": timing.clock if timing else None, "cache": timing.cache if timing else None,
        "baseline": baseline, "baseline_run": run.baseline_run,
        "verified": "yes" if result.is_proven else "no", "refused": "yes" if result.refused else "no",
        "status": result.status, "seed": result.seed,
        "device_name": environment.device, "driver": environment.driver, "clocks": environment.clocks,
        "versions": ", ".join(f"{name} {version}" for name, version in environment.versions.items()),
        "commit": environment.commit,
    }  # fmt: skip
