"""The problem of a job that the window asks about: its picture lies in shared memory. No Numba in here."""

import numpy as np

from engine.host import shared
from engine.host.tiles import FilePixels
from engine.work.filtering.measured_part import blank
from engine.work.filtering.messages import FilterJob
from engine.work.filtering.problem import Problem
from engine.work.filtering.resolve import describe_problem, result_dtype_for


def asked_problem(job: FilterJob) -> tuple[np.ndarray, Problem]:
    """Return a job's samples and its problem; of a large picture those of a part, all zeros."""
    picture = job.picture
    samples = blank(picture) if isinstance(picture.pixels, FilePixels) else shared.attach(picture.pixels)
    result_dtype = result_dtype_for(job.result_type, samples, samples)
    return samples, describe_problem(samples, job.mask, job.border, job.cval, result_dtype)
