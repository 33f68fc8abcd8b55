"""Resolves a request into what the pipeline computes: problem, device, variant and block."""

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from engine.device.devices import device_named
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue, UnknownName
from engine.geometry.border import Border
from engine.geometry.cut import Reach
from engine.mask.mask import Mask
from engine.run.device_choice import device_for
from engine.run.task import Choice
from engine.work.filtering.auto.planner import choose
from engine.work.filtering.problem import RESULT_TYPES, Problem
from engine.work.filtering.request import FilterRequest
from engine.work.filtering.task import FilterJob, filter_job
from engine.work.filtering.variants import Variant, variant
from engine.work.pictures import DTYPES


def result_dtype_for(wanted: str, image: np.ndarray, samples: np.ndarray) -> str:
    """Return the sample type of a result: `wanted` is "float32", or "same" for that of the picture as given.

    Raises UnknownName for another word, BadValue for "same" with a type that results cannot have.
    """
    if wanted not in RESULT_TYPES:
        raise UnknownName(
            f"results of type {wanted!r}",
            "there is no such choice",
            f"Choose one of {', '.join(RESULT_TYPES)}.",
        )
    if wanted == "same" and image.dtype.newbyteorder("=") != samples.dtype:
        raise BadValue(
            f"results of type {image.dtype}, as the picture",
            f"a picture of that type is filtered as {samples.dtype}, and results are {', '.join(DTYPES)}",
            "Choose float32 results, or convert the picture first.",
        )
    return samples.dtype.name if wanted == "same" else wanted


def describe_problem(
    samples: np.ndarray, mask: Mask, border: Border | str, cval: float, result_dtype: str = "float32"
) -> Problem:
    """Return the problem of filtering `samples` (H x W x C) with a mask.

    Raises BadValue for a constant that is not a finite float32 or an illegal type of the result, UnknownName
    for an unknown border.
    """
    if not abs(cval) <= float(np.finfo(np.float32).max):
        raise BadValue(
            f"a constant border of {cval:g}",
            "it is not a finite number of float32",
            "Keep it between -3.4e+38 and 3.4e+38.",
        )
    height, width, channels = samples.shape
    return Problem(
        height=height,
        width=width,
        channels=channels,
        dtype=samples.dtype.name,
        mask_shape=mask.shape,
        anchor=mask.anchor,
        border=Border.named(border),
        cval=float(cval),
        result_dtype=result_dtype,
    )


class ResolvedFilter:
    """A request with its problem, device, variant and block.

    `samples` are those of `as_samples`, `image` is the picture as given: results may be of its type. Raises
    EngineError for an unknown device, variant or border, and for an illegal value.
    """

    def __init__(self, asked: FilterRequest, samples: np.ndarray, image: np.ndarray | None = None) -> None:
        self.asked, self.samples = asked, samples
        given = samples if image is None else image
        result_dtype = result_dtype_for(asked.result_type, given, samples)
        self.problem: Problem = describe_problem(samples, asked.mask, asked.border, asked.cval, result_dtype)
        self.device: DeviceInfo = self.chosen_device()

    def chosen_device(self) -> DeviceInfo:
        """Return the device that the request names, or that its variant needs."""
        asked = self.asked
        if asked.variant == AUTO:
            return device_named(asked.device)
        return device_for(variant(asked.variant), asked.device)

    @cached_property
    def choice(self) -> Choice[Variant]:
        """The variant and its block; resolved on first use, which takes `auto` 0.1 to 0.4 ms."""
        asked = self.asked
        return choose(asked.variant, self.problem, asked.mask, asked.block, self.device)

    def as_saved(self, saved: np.dtype[Any], range_mode: str) -> Self:
        """Return a request whose kernel writes the samples of a file of a type, where they are the same."""
        is_same = range_mode == "clip" or (range_mode == "absolute" and self._is_never_negative)
        if is_same and saved == self.samples.dtype and self.is_finite:
            return self.quantised() or self
        return self

    @property
    def is_finite(self) -> bool:
        """Whether no result can become infinite, which is noted (`Loss`)."""
        samples, mask = self.samples.dtype, self.asked.mask
        if samples == np.float32:
            return False
        largest = max(float(np.iinfo(samples).max), abs(self.problem.ghost_value))
        most = float(np.abs(mask.weights).sum()) * largest + abs(mask.offset)
        # Far below what the rounding of a sum could lift over it.
        return most < float(np.finfo(np.float32).max) / 2

    @property
    def _is_never_negative(self) -> bool:
        """Whether no result can be below 0, so that it is its own absolute value."""
        mask = self.asked.mask
        least = min(float(mask.weights.min()), mask.offset, self.problem.ghost_value)
        return self.samples.dtype != np.float32 and least >= 0.0

    def quantised(self) -> Self | None:
        """Return the same variant and block with results of the picture's 8 or 16 bit, where it writes them.

        Each is the float32 result, saturated and rounded half to even.
        """
        problem = replace(self.problem, result_dtype=self.problem.dtype)
        choice = self.choice
        if not problem.is_quantised or choice.variant.why_not(
            problem, self.asked.mask, choice.block, self.device.limits
        ):
            return None
        other = copy(self)
        # Not what `auto` would choose for such results: another variant may round otherwise.
        block = choice.block if choice.variant.uses_block else self.asked.block
        other.asked = replace(self.asked, result_type="same", variant=choice.variant.key, block=block)
        other.problem = problem
        other.choice = choice
        return other

    @property
    def reach(self) -> Reach:
        """The cells that a result depends on."""
        return self.problem.reach

    def in_parts(self, rows: int | None = None) -> Self:
        """Return it with a variant whose results do not depend on where a picture is cut, if none is named.

        `auto` chooses for parts of so many rows.
        """
        other, asked = copy(self), self.asked
        problem = self.problem if rows is None else replace(self.problem, height=rows)
        other.choice = choose(asked.variant, problem, asked.mask, asked.block, self.device, in_bands=True)
        return other

    @property
    def settled(self) -> FilterRequest:
        """The request with the device, the variant and the block that were chosen."""
        variant, block, _ = self.choice
        return replace(self.asked, variant=variant.key, block=block, device=self.device.key)

    def job(self) -> FilterJob:
        """Return the job for the pipeline."""
        return filter_job(self.choice, self.problem, self.asked.mask, self.samples, layout=self.asked.layout)
