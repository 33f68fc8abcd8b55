"""The problem that the workspace describes, as results are compared by it."""

from collections.abc import Hashable

from engine.host.protocol import FilterJob
from engine.tasks.filtering.problem import Problem
from gui.explore.workspace import Workspace


def problem_of(job: FilterJob) -> Problem:
    """Return the problem of a job."""
    picture, mask = job.picture, job.mask
    return Problem(
        height=picture.height,
        width=picture.width,
        channels=picture.channels,
        dtype=picture.pixels.dtype,
        mask_shape=mask.shape,
        anchor=mask.anchor,
        border=job.border,
        cval=job.cval,
        result_dtype=picture.pixels.dtype if job.result_type == "same" else "float32",
    )


def workspace_comparable(workspace: Workspace) -> Hashable | None:
    """Return what `engine.results.compare.comparable` says of runs of the present job; None while there is no picture."""
    job = workspace.job()
    if job is None:
        return None
    return Problem.task, problem_of(job).comparable, job.mask.weights_digest
