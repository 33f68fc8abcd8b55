"""The recorded runs that come nearest to a problem: those of its mask's size on the nearest picture.

Nothing is scaled: each run keeps its own picture, mask and border. Called on: the host's pipe, or a script's
main thread.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from engine.device_info import RECORDED
from engine.files.assets import faults_of_asset
from engine.geometry.block import Limits
from engine.mask.mask import Mask
from engine.results.progress import Checkpoint
from engine.results.recorded import RUNS, recorded_document, recorded_path
from engine.tasks.messages import RecordedRequest, RecordedRuns
from engine.tasks.read_results import results_from_document
from engine.work.columns import mask_text
from engine.work.filtering.problem import Problem
from engine.work.filtering.results import RunResult
from engine.work.filtering.variants import VARIANTS, variant

Shape = tuple[int, int]


class Picture(NamedTuple):
    """What a picture is to a kernel."""

    height: int
    width: int
    channels: int
    dtype: str


def describe(request: RecordedRequest, report: Checkpoint) -> RecordedRuns:
    """Return the recorded runs for a problem."""
    return recorded_runs(request.problem, request.mask)


def recorded_runs(problem: Problem, mask: Mask) -> RecordedRuns:
    """Return a run of each variant that can compute a problem, all on the picture nearest to its own.

    A run with the very mask, border and type of results comes before others.
    """
    if not (recorded := _recorded()):
        return RecordedRuns(note="This version came without recorded runs.")
    if not (pictures := recorded.get(mask.shape)):
        sizes = ", ".join(f"{rows} × {columns}" for rows, columns in sorted(recorded))
        why = f"No run was recorded with a mask of {mask.rows} × {mask.columns}; recorded are {sizes}."
        return RecordedRuns(note=why)
    nearest = min(pictures, key=lambda other: _distance(other, _picture(problem)))

    def differs(run: RunResult) -> tuple[bool, ...]:
        other = run.problem
        return (
            other.result_dtype != problem.result_dtype,
            run.weights_digest != mask.weights_digest,
            other.border != problem.border,
        )

    chosen: dict[str, RunResult] = {}
    for run in sorted(pictures[nearest], key=differs):
        if run.variant not in chosen and _computes(run, problem, mask):
            chosen[run.variant] = run
    runs = tuple(chosen[known.key] for known in VARIANTS if known.key in chosen)
    return RecordedRuns(runs, _note(runs, problem, mask))


@cache
def _recorded() -> dict[Shape, dict[Picture, list[RunResult]]]:
    """Return all recorded runs, by mask and picture: reading them takes 30 ms."""
    found: dict[Shape, dict[Picture, list[RunResult]]] = {}
    with faults_of_asset(recorded_path(RUNS), "The recording"):
        document = recorded_document(RUNS)
        runs: tuple[Any, ...] = results_from_document(document) if document else ()
        for run in runs:
            on_pictures = found.setdefault(run.problem.mask_shape, {})
            on_pictures.setdefault(_picture(run.problem), []).append(replace(run, device=RECORDED))
    return found


def _computes(run: RunResult, problem: Problem, mask: Mask) -> bool:
    """Whether the variant of a run takes that mask and these types too."""
    known = variant(run.variant)
    block = run.block or known.default_block
    # What a GPU of that kind can do is not in question: it did it.
    return known.why_not(problem, mask, block, Limits(compute_capability=(9, 0))) is None


def _picture(problem: Problem) -> Picture:
    return Picture(problem.height, problem.width, problem.channels, problem.dtype)


def _distance(one: Picture, other: Picture) -> tuple[float, ...]:
    """Return how far two pictures are from each other: first in type, then in size, then in shape."""
    types = (one.dtype != other.dtype) + (one.channels != other.channels)
    samples = [picture.height * picture.width * picture.channels for picture in (one, other)]
    return types, abs(math.log(samples[0] / samples[1])), abs(math.log(one.width / other.width))


def _note(runs: Iterable[RunResult], problem: Problem, mask: Mask) -> str:
    """Say what the recorded runs do not share with a problem; empty where they are of the very same."""
    parts: dict[str, None] = {}
    for run in runs:
        other = run.problem
        if _picture(other) != _picture(problem) or other.result_dtype != problem.result_dtype:
            parts[other.picture_text] = None
        if run.weights_digest != mask.weights_digest:
            parts[f"mask {mask_text(run)}"] = None
        if other.border != problem.border:
            parts[f"border {other.border}"] = None
    return f"Recorded of another problem: {', '.join(parts)}" if parts else ""
