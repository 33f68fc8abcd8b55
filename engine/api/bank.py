"""`apply_bank`: several masks applied to one picture, which is copied to the device once."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.api.arguments import BlockLike, Image, as_array, as_seconds
from engine.api.calls import as_applied
from engine.api.host_copy import host_copy
from engine.api.request import Call, MaskLike, request_of
from engine.device.devices import backend
from engine.device_info import AUTO
from engine.errors import BadValue, MaskError, VerificationFailed
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.results.text_forms import MISSING, html_table
from engine.run.measure import measure_each
from engine.run.sampling import NO_SAMPLES, SamplingPlan
from engine.work.filtering.agreement import AFFORDABLE_MULTIPLY_ADDS
from engine.work.filtering.results import RunResult
from engine.work.pictures import as_samples


@dataclass(frozen=True, slots=True, eq=False)
class AppliedBank:
    """A picture filtered with several masks.

    Parameters
    ----------
    values : array of shape (masks, H, W) or (masks, H, W, C), float32, of the picture's kind
    results : tuple of RunResult
        Per mask: variant, block, device, timing, verification.
    """

    values: Any
    results: tuple[RunResult, ...]

    def _repr_html_(self) -> str:
        summaries = [one.summary for one in self.results]
        columns = list(dict.fromkeys(name for summary in summaries for name in summary))
        lines = (
            (str(number), *(summary.get(name, MISSING) for name in columns))
            for number, summary in enumerate(summaries, start=1)
        )
        return html_table(lines, header=("Mask", *columns))


def apply_bank(
    image: Image,
    masks: Iterable[MaskLike],
    *,
    border: str | Border = "zero",
    cval: float = 0.0,
    anchor: tuple[int, int] | None = None,
    variant: str = AUTO,
    block: BlockLike | None = None,
    device: str | None = None,
    flip: bool = False,
    budget_s: float = 0.5,
    layout: str | Layout = Layout.PITCHED,
) -> AppliedBank:
    """Apply several masks to one picture, verified and timed. The picture is copied to the device once.

    An array in a GPU's memory is copied to the host once, for the oracle, and `values` are copied back to an
    array of its kind.

    Parameters
    ----------
    image, border, cval, anchor, variant, block, device, layout
        As for `engine.correlate`; "auto" chooses a variant for each mask.
    masks : iterable of Mask, array of shape (rows, columns), or str
    flip : bool
        Convolution instead of correlation.
    budget_s : float
        Time to spend on samples of all masks, seconds.

    Raises
    ------
    MaskError
        No mask, or one that is none.
    VerificationFailed
        A result is further from the oracle than rounding explains; the message says of which mask.
    EngineError
        Anything else; what cannot be done with one of the masks is said before any is applied.

    Examples
    --------
    >>> import engine, numpy
    >>> applied = engine.apply_bank(numpy.eye(3), [[[1, 2, 3]], [[0, 1, 0]]], device="cpu")
    >>> applied.values[0]
    array([[2., 1., 0.],
           [3., 2., 1.],
           [0., 3., 2.]], dtype=float32)
    """
    if isinstance(masks, Mask | str) or not isinstance(masks, Iterable):
        raise BadValue(
            "The masks are not a list",
            "this call applies several masks",
            "Pass a list of masks, or call engine.apply with one.",
        )
    given = host_copy(image, device)
    array = as_array(given.array)
    samples = as_samples(array)
    requests = [
        Call(
            samples,
            request_of(mask, border, cval, anchor, variant, block, given.device, flip, layout, "float32"),
        )
        for mask in masks
    ]
    if not requests:
        raise MaskError("The masks cannot be applied", "there is none", "Give at least one mask.")
    # So that verifying 32 masks does not take a minute, the oracle has for all what it has for one filter.
    affordable = AFFORDABLE_MULTIPLY_ADDS // len(requests)
    jobs = [replace(request.job(), affordable=affordable) for request in requests]
    chosen = requests[0].device
    for job in jobs:
        job.refuse(chosen)
    plan = SamplingPlan(budget_s=as_seconds(budget_s) / len(jobs))
    applied = []
    plan = plan if chosen.times_mean_speed else NO_SAMPLES
    for number, outcome in enumerate(measure_each(jobs, backend(chosen.key), plan), start=1):
        try:
            applied.append(as_applied(outcome, array.shape))
        except VerificationFailed as error:
            why = f"mask {number} of {len(jobs)}: {error.why}"
            raise VerificationFailed(error.what, why, error.remedy) from error
    values = given.back(np.stack([one.values for one in applied]))
    return AppliedBank(values, tuple(one.result for one in applied))
