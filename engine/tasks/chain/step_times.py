"""What each step of a chain takes, beside what the chain takes as a whole."""

import statistics
from typing import Any

import numpy as np

from engine.device.anti_aliasing import reused_result
from engine.tasks.chain.results import StepTime
from engine.tasks.chain.task import ChainJob

SAMPLES = 3


def step_times(job: ChainJob, *, timed: bool = True) -> tuple[StepTime, ...]:
    """Return the steps of a chain that is proven, on the CPU with the median of a few launches."""
    plan = job.operands.plan
    found: list[list[float]] = []
    if timed and job.variant.device == "cpu":
        prepared: Any = job.task.prepare(job)
        out = reused_result(job.operands.samples, job.operands.samples.shape, np.float32)
        for _ in range(SAMPLES):
            prepared.launch(job.operands.samples, out)
            found.append(list(prepared.step_ms))
    times = [statistics.median(each) for each in zip(*found, strict=True)] or [None] * len(plan)
    return tuple(
        StepTime(planned.step.id, planned.step.title, planned.variant_key, ms)
        for planned, ms in zip(plan, times, strict=True)
    )
