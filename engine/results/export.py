"""The files of results, of window and command line alike: JSON with every sample, CSV for spreadsheets.

What was measured on another machine and comes with the program is read when it is first asked for: `python -m
bench.recorded` writes it. A machine without a GPU shows it beside its own, always marked.
"""

import csv
import gzip
import io
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from engine.device_info import DeviceInfo
from engine.files.assets import ASSETS, faults_of_asset
from engine.files.reading import Json
from engine.results.metrics import SPEED_UP_OF, Compared, metrics_of
from engine.results.problem import MODEL_OF_WORK
from engine.results.text_forms import NON_FINITE, harmless

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
    result = run.result
    timing = result.timing if result.kernel_ms is not None else None
    environment = result.environment
    return {
        "run": run.number,
        "task": result.task,
        "variant": result.variant,
        "title": result.title,
        "device": result.device,
        "block_x_threads": result.block.x if result.block else None,
        "block_y_threads": result.block.y if result.block else None,
        "layout": result.layout or None,
        **result.problem.csv_columns(),
        **({"mask": result.mask_name, "weights_digest": result.weights_digest} if result.mask_name else {}),
        **{metric.key: metric.value(run) for metric in metrics_of(result.problem)},
        **{f"step_{step.id}_ms": step.ms for step in result.steps},
        "clock": timing.clock if timing else None,
        "cache": timing.cache if timing else None,
        "baseline": baseline,
        "baseline_run": run.baseline_run,
        "verified": "yes" if result.is_proven else "no",
        "refused": "yes" if result.refused else "no",
        "status": result.status,
        "seed": result.seed,
        "device_name": environment.device,
        "driver": environment.driver,
        "clocks": environment.clocks,
        "versions": ", ".join(f"{name} {version}" for name, version in environment.versions.items()),
        "commit": environment.commit,
    }
