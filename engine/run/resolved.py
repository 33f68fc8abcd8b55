"""From what a person asks for to what the pipeline computes: problem, device, variant and block of a filtering."""

from functools import cached_property

import numpy as np

from engine.device.devices import device_named
from engine.device_info import AUTO, DeviceInfo
from engine.run.device_choice import device_for
from engine.run.filtering import FilterJob, filter_job
from engine.run.resolve import describe_problem, result_dtype_for
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.request import FilterRequest
from engine.variants.auto.planner import Choice, choose
from engine.variants.registry import variant


class ResolvedFilter:
    """A request with its picture, looked up.

    Parameters
    ----------
    asked : FilterRequest
    samples : ndarray of shape (H, W, C)
        As `engine.run.resolve.as_samples` gives them.
    image : ndarray, optional
        The picture as it was given, whose type results may be asked for in.

    Attributes
    ----------
    asked, samples
    problem : Problem
    device : DeviceInfo

    Raises
    ------
    EngineError
        No such device, variant or border; a value that is not legal.
    """

    def __init__(self, asked: FilterRequest, samples: np.ndarray, image: np.ndarray | None = None) -> None:
        self.asked, self.samples = asked, samples
        given = samples if image is None else image
        result_dtype = result_dtype_for(asked.result_type, given, samples)
        self.problem: Problem = describe_problem(samples, asked.mask, asked.border, asked.cval, result_dtype)
        self.device: DeviceInfo = (
            device_named(asked.device)
            if asked.variant == AUTO
            else device_for(variant(asked.variant), asked.device)
        )

    @cached_property
    def choice(self) -> Choice:
        """The variant and its block; looked up when it is asked for, which takes `auto` 0.1 to 0.4 ms."""
        asked = self.asked
        return choose(asked.variant, self.problem, asked.mask, asked.block, self.device)

    def job(self) -> FilterJob:
        """Return what the pipeline is to compute."""
        return filter_job(self.choice, self.problem, self.asked.mask, self.samples, layout=self.asked.layout)
