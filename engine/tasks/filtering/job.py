"""The job of filtering a picture with one mask."""

import numpy as np

from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.run.task import Job
from engine.tasks.filtering.auto.planner import Choice
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.task import FILTERING, FilterJob, FilterOperands


def filter_job(
    choice: Choice,
    problem: Problem,
    mask: Mask,
    samples: np.ndarray,
    *,
    layout: Layout = Layout.PITCHED,
    seed: int = 0,
) -> FilterJob:
    """Return the job of filtering `samples` (H x W x C, of the problem's dtype) with one mask."""
    operands = FilterOperands(samples, mask, layout)
    return Job(FILTERING, choice.variant, choice.block, problem, operands, choice.reason, seed)
