"""Records what a GPU measures, for the window, the course and its documents on machines without one.

python -m bench.recorded runs --out FILE                    kernels on common pictures, and the GPU's limits
python -m bench.recorded course [PAPER ...] --out FILE      the tables of the course papers (default: of all)
python -m bench.recorded take --from FOLDER                 puts both files in assets/recorded

What is in FILE stays if it is of the same commit and GPU: only what it lacks is measured, until --minutes are
over. So both can be called again. Both refuse a checkout with changes that are not committed; a copy of a
checkout without git is told its commit by --commit. `take` refuses files that are not of one clean commit, of
one GPU, of these sources, and complete.
"""

import gzip
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.options import parser_of
from bench.representative import mask_for
from engine.compiled.code_store import source_digest
from engine.course.bench import machine_lines, measured_paper
from engine.course.files import markdown_of, svg_of
from engine.course.paper import CourseTable
from engine.course.papers import (
    COURSE_FORMAT,
    COURSE_VERSION,
    PAPERS,
    beside,
    recorded_paper,
    recorded_values,
)
from engine.course.tables import counted_tables
from engine.device.device_list import COMMIT_VARIABLE, commit
from engine.device.devices import backend
from engine.device.launches import DeviceKind
from engine.explain.gpu_limits_code import gpu_limits
from engine.geometry.block import Limits
from engine.image.open import open_sample
from engine.mask.mask import Mask
from engine.mask.presets import preset, preset_names
from engine.results.columns import (
    COURSE,
    FORMAT,
    RUNS,
    VERSION,
    problem_text,
    recorded_document,
    recorded_path,
)
from engine.results.measurement import AnyResult
from engine.results.problem import Progress
from engine.results.text_forms import strict
from engine.run.measure import SamplingPlan, measure
from engine.run.task import Job
from engine.tasks.read_results import results_from_document
from engine.work.filter_task import FILTERING, MaskJob, describe_problem
from engine.work.filtering.variants import VARIANTS, Variant
from engine.work.problem import random_picture

GPU = "cuda:0"
PLAN = SamplingPlan(warm_up_s=0.05, budget_s=0.1, most=15, fewest_copies=3, patience_s=2.0)
# Height, width, channels. First the picture that the window opens with, then a photograph, the sizes of
# `bench` and of the course, and the pictures of the documents' figures.
PICTURES = (
    (512, 512, 3, "uint8"),
    (1080, 1920, 3, "uint8"),
    (512, 512, 1, "uint8"),
    (1024, 1024, 1, "float32"),
    (2048, 2048, 1, "float32"),
    (4096, 4096, 1, "float32"),
    (512, 512, 1, "float32"),
    (4096, 4096, 3, "uint8"),
)
# Each variant with the mask of its class: binomial, of equal weights, of one row, of rank 2 or 3.
SIDES = (3, 5, 7, 9, 15)
FIRST_SAMPLE = "astronaut"
# Of the CPU beside the GPU, for speed-ups on one machine. Plain loops do 1 to 3 G multiply-adds per second.
BASELINE, ON_CPU = "cpu-serial", ("cpu-serial", "cpu-parallel")
MOST_SERIAL = 500_000_000

Key = tuple[str, Any, str | None]


def jobs(limits: Limits) -> Iterator[MaskJob]:
    """Yield every job that a variant takes on a GPU with these limits; the baseline with every mask."""
    for number, (*shape, dtype) in enumerate(PICTURES):
        samples = random_picture((shape[0], shape[1], shape[2]), dtype, seed=0)
        if number == 0:
            samples = open_sample(FIRST_SAMPLE).samples
        # Of the picture that the window opens with every mask that it offers.
        for known, mask in _pairs([preset(name) for name in preset_names()] if number == 0 else []):
            problem = describe_problem(samples, mask, "zero", 0.0, dtype if known.uint8_only else "float32")
            is_slow = known.key == BASELINE and problem.multiply_adds > MOST_SERIAL
            if not is_slow and known.why_not(problem, mask, known.default_block, limits) is None:
                yield Job(FILTERING, known, known.default_block, problem, samples, mask)


def _pairs(masks_for_all: list[Mask]) -> list[tuple[Variant, Mask]]:
    recorded = [known for known in VARIANTS if known.device is DeviceKind.CUDA or known.key in ON_CPU]
    pairs = [(known, mask) for mask in masks_for_all for known in recorded]
    pairs += [(known, mask_for(known, side, side)) for side in SIDES for known in recorded]
    baseline = next(known for known in recorded if known.key == BASELINE)
    return list(dict.fromkeys([*pairs, *((baseline, mask) for _, mask in pairs)]))


def record_runs(before: dict[str, Any], minutes: float) -> dict[str, Any]:
    """Return a document of results with those that were lacking; of another GPU or commit it begins anew."""
    end_s = time.monotonic() + 60 * minutes
    gpu = backend(GPU)
    head = {"format": FORMAT, "version": VERSION, **_made(gpu.info.title)}
    goes_on = _is_same(before, head)
    limits = before["limits"] if goes_on else asdict(gpu_limits(gpu))
    results = before["results"] if goes_on else []
    known = set(map(_key, results_from_document(before))) if results else set()
    is_complete = False
    for job in jobs(gpu.info.limits):
        if time.monotonic() > end_s:
            print("The time is over. Call it again for the rest.")
            break
        if (job.variant.key, job.problem, job.constant.weights_digest) in known:
            continue
        on = gpu if job.variant.device is DeviceKind.CUDA else backend("cpu")
        result = measure(job, on, PLAN).result
        print(f"{problem_text(result)}, {result.variant}: {result.status}", flush=True)
        if result.kernel_ms is not None:
            results.append(compact(result))
    else:
        is_complete = True
    return head | {"complete": is_complete, "limits": limits, "results": results}


def compact(result: AnyResult) -> dict[str, Any]:
    """Return a result as files have it, without what follows from the rest; samples of five digits."""
    data: dict[str, Any] = strict(result.as_json())
    for name, spread in data["timing"].items():
        if isinstance(spread, dict):
            samples = [float(f"{sample:.5g}") for sample in spread["samples_ms"]]
            data["timing"][name] = {"samples_ms": samples}
    del data["status"], data["reason"]
    return data


def _key(run: AnyResult) -> Key:
    return run.variant, run.problem, run.weights_digest


def record_course(before: dict[str, Any], keys: list[str], minutes: float) -> dict[str, Any]:
    """Return the document of tables with those of some papers that were lacking, as this machine has them."""
    end_s = time.monotonic() + 60 * minutes

    def show(step: Progress) -> None:
        print(f"{step.fraction:4.0%} {step.stage}", flush=True)

    head = {"format": COURSE_FORMAT, "version": COURSE_VERSION, **_made(backend(GPU).info.title)}
    papers = dict(before["papers"]) if _is_same(before, head) else {}
    for key in keys:
        if key in papers or time.monotonic() > end_s:
            continue
        tables = [recorded_values(table) for table in measured_paper(key, GPU, checkpoint=show).tables]
        papers[key] = {"machine": dict(machine_lines(GPU)), "tables": tables}
    lacking = [one.key for one in PAPERS if one.key not in papers]
    if lacking:
        print(f"Call it again for {', '.join(lacking)}.")
    return head | {"complete": not lacking, "papers": papers}


def _is_same(before: dict[str, Any], head: dict[str, Any]) -> bool:
    """Whether a file can be gone on with: same GPU, same commit, same sources."""
    return all(before.get(name) == head[name] for name in SAME)


SAME = ("gpu", "commit", "sources")
"""What both files share with each other, and with what goes on with them."""


def _made(gpu: str) -> dict[str, str]:
    made = {"recorded": time.strftime("%Y-%m-%d"), "commit": commit(), "sources": source_digest()}
    return {"gpu": gpu, **made}


def faults_of(documents: dict[str, dict[str, Any]], commit_here: str | None = None) -> list[str]:
    """Return what keeps recorded files from being shown; `commit_here` if it must be that one."""
    found = []
    for name, document in documents.items():
        hash_ = document.get("commit", "")
        if not hash_ or "changes" in hash_:
            found.append(f"{name} is not of a commit: '{hash_}'")
        if not document.get("complete"):
            found.append(f"{name} is not complete")
        if commit_here is not None and hash_ != commit_here:
            found.append(f"{name} is of {hash_}, this checkout is {commit_here}")
        if commit_here is not None and document.get("sources") != source_digest():
            found.append(f"{name} is of other sources than this checkout has")
    differ = [name for name in SAME if len({document.get(name) for document in documents.values()}) > 1]
    return found + [f"{' and '.join(documents)} are of different: {name}" for name in differ]


def take(folder: Path) -> int:
    """Put both files of a folder into assets/recorded; return the exit status."""
    documents = {what: read(folder / f"{what}.json.gz") for what in (RUNS, COURSE)}
    if faults := faults_of(documents, commit()):
        print("\n".join(faults))
        return 1
    for what, document in documents.items():
        write(recorded_path(what), document)
    return 0


def read(path: Path) -> dict[str, Any]:
    """Return what a file of this module holds; nothing where there is none."""
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}


def write(path: Path, document: dict[str, Any]) -> None:
    """Write a document, the same bytes for the same document."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{path}: {path.stat().st_size:,} bytes")


FOLDER = "course-recorded"


def course_documents() -> dict[str, bytes]:
    """Return every file by its path on the site: a page for each recorded paper, and its figures."""
    found: dict[str, bytes] = {}
    for one in PAPERS:
        recorded = recorded_paper(one.key)
        if recorded is None:
            continue
        kept = {table["title"]: table for table in recorded_document(COURSE)["papers"][one.key]["tables"]}
        tables = [
            _measured(beside(table, recorded), kept.get(table.title, {})) for table in counted_tables(one.key)
        ]
        pictures: dict[str, str] = {}
        for table in tables:
            if table.figure is not None:
                name = f"{one.key}-figure-{len(pictures) + 1}.svg"
                found[f"{FOLDER}/{name}"] = svg_of(table.figure)
                pictures[table.figure.title] = name
        text = markdown_of(one, tables, tuple(recorded.machine.items()), pictures)
        found[f"{FOLDER}/{one.key}.md"] = text.encode()
    return found


def _measured(table: CourseTable, kept: Mapping[str, Any]) -> CourseTable:
    """Return a table with what was recorded as what was measured here: a document is about that machine."""
    rows = tuple(
        tuple(
            replace(cell, here=cell.recorded, recorded="", reason="") if cell.recorded else cell
            for cell in row
        )
        for row in table.rows
    )
    notes = tuple(note for note in table.notes if not note.startswith("Recorded: "))
    figure, curves = table.figure, dict(kept.get("curves", ()))
    if figure is not None:
        series = tuple(replace(one, y=tuple(curves.get(one.name, one.y))) for one in figure.series)
        figure = replace(figure, series=series)
    return replace(table, rows=rows, notes=notes, figure=figure)


def main() -> int:
    """Record runs or tables, or take what was recorded."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=(RUNS, COURSE, "take"))
    parser.add_argument("papers", nargs="*", default=[one.key for one in PAPERS])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--from", type=Path, dest="folder", default=Path("recording"))
    parser.add_argument("--minutes", type=float, default=7.0)
    parser.add_argument("--commit", help="where there is no git: the first 12 digits of the commit")
    asked = parser.parse_args()
    if asked.what == "take":
        return take(asked.folder)
    if asked.commit:
        os.environ[COMMIT_VARIABLE] = asked.commit
    if not commit() or "changes" in commit():
        print("Commit first: a recording is of a commit. Where there is no git, --commit says which.")
        return 1
    path = asked.out or recorded_path(asked.what)
    record = partial(record_course, keys=asked.papers) if asked.what == COURSE else record_runs
    write(path, record(read(path), minutes=asked.minutes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
