"""The Python calls whose results are verified and timed: `apply`, `operate`, `chain`, `apply_bank`."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import structs

from engine.api.applied import Applied, as_applied, measured
from engine.api.calls import (
    BlockLike,
    Image,
    array_text,
    as_array,
    as_block,
    as_device,
    as_seconds,
    host_copy,
)
from engine.api.request import MaskLike, PictureCall, request_of
from engine.device.devices import backend
from engine.device_info import AUTO
from engine.errors import BadValue, MaskError, VerificationFailed
from engine.geometry.block import Layout
from engine.geometry.border import Border
from engine.image.convert import to_depth
from engine.mask.mask import Mask
from engine.results.answer import Mark
from engine.results.measurement import Measurement, StepTime
from engine.results.text_forms import MISSING, Shown, html_table
from engine.run.measure import SamplingPlan, measure_each
from engine.work.chain_files import chain_from, chain_named
from engine.work.columns import RunResult
from engine.work.filtering.oracle import AFFORDABLE_MULTIPLY_ADDS
from engine.work.measuring import timed_steps, with_steps
from engine.work.problem import ChainProblem, OperationProblem, Parameters, as_samples
from engine.work.steps import Chain, OperationStep, of_chain, one_step

ChainLike = Chain | str | os.PathLike[str] | Sequence[Mapping[str, Any]]


def apply(
    image: Image,
    mask: MaskLike,
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
    result: str = "float32",
) -> Applied:
    """Filter a picture, verify the result against the float64 oracle, and time it.

    An array in a GPU's memory is copied to the host once, for the oracle; it is filtered on its GPU, and
    `values` are copied back to an array of its kind.

    Parameters
    ----------
    image, mask, border, cval, anchor, variant, block, device, layout, result
        As for `correlate`, but on "auto" the GPU where there is one: what is timed has no copies.
    flip : bool
        Convolution instead of correlation.
    budget_s : float
        Time to spend on samples, seconds.

    Raises
    ------
    VerificationFailed
        The result is further from the oracle than rounding explains.
    EngineError
        Anything else.
    """
    copy = host_copy(image, device)
    how = border, cval, anchor, variant, block, copy.device, flip, layout, result
    call = PictureCall(copy.array, request_of(mask, how))
    applied = measured(call, SamplingPlan(budget_s=as_seconds(budget_s)))
    return Applied(copy.back(applied.values.reshape(call.shape)), applied.result)


@dataclass(frozen=True, slots=True, repr=False)
class Operated(Shown):
    """What an operation computed, with its verification and its times.

    Parameters
    ----------
    values : array of the picture's kind
        What the variant wrote: the picture; the counts (channels, bins, 1) of a histogram; the scores of a
        patch at each position; quantised coefficients above the samples they are transformed back to.
    picture : array of the picture's shape, type and kind, optional
        The result as a picture; None for a histogram. Of `find-patch` the picture as it was.
    numbers : dict of str to float
        Such as psnr_db and estimated_bytes; empty for most.
    counts : ndarray of shape (channels, bins), optional
        Counts of a histogram.
    mark : Mark, optional
        The best match of a patch: row, column, height, width.
    result : Measurement
        Variant, block, device, timing, verification.
    """

    values: Any
    picture: Any
    numbers: dict[str, float]
    counts: np.ndarray | None
    mark: Mark | None
    result: Measurement[OperationProblem]

    def _shown(self) -> list[tuple[str, str]]:
        lines = [("Values", array_text(self.values))]
        lines += [(name, f"{value:.6g}") for name, value in self.numbers.items()]
        if self.mark is not None:
            row, column, height, width = structs.astuple(self.mark)
            lines.append(("Best match", f"row {row}, column {column}, {height} × {width}"))
        return [*lines, *self.result.summary.items()]


def operate(
    image: Image,
    operation: str,
    *,
    patch: Image | None = None,
    variant: str = AUTO,
    block: BlockLike | None = None,
    device: str | None = None,
    layout: str | Layout = Layout.PITCHED,
    budget_s: float = 0.1,
    **parameters: Any,
) -> Operated:
    """Do an operation other than filtering, verify its result and time it.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), or Picture
        As for `correlate`; the alpha of a `Picture` is left out. An array in a GPU's memory is copied to the
        host once, for the oracle, and `values` and `picture` are copied back to arrays of its kind.
    operation : str
        "negative", "threshold", "desaturate", "hue-shift", "histogram", "equalise", "gradient-magnitude",
        "median", "minimum", "maximum", "morphology", "bilateral", "find-patch" or "compress".
    patch : array or Picture, optional
        For "find-patch": the small picture to find. None: what left, top, width and height cut from the
        picture itself.
    variant, block, device, layout
        As for `correlate`; `python main.py variants --json` lists the variants of each operation.
    budget_s : float
        Time to spend on samples, seconds.
    parameters
        Parameters of the operation, by name, such as size=5 for "median".

    Raises
    ------
    VerificationFailed
        The result is not what the oracle says.
    EngineError
        Anything else; says what, why and what helps.

    Examples
    --------
    >>> import engine, numpy
    >>> spots = numpy.zeros((5, 5), numpy.uint8)
    >>> spots[2, 2] = 255
    >>> int(engine.operate(spots, "median", size=3, device="cpu").picture.max())
    0
    """
    copy = host_copy(image, device)
    settings = Parameters(parameters.items())
    step = OperationStep(operation=operation, settings=settings, variant=variant, block=as_block(block))
    request = one_step(step, device=as_device(copy.device), layout=Layout.named(layout))
    call = PictureCall(copy.array, request, host_copy(patch).array)
    applied = measured(call, SamplingPlan(budget_s=as_seconds(budget_s)))
    answer = call.answer(applied.values)
    return Operated(
        copy.back(applied.values),
        None if answer.picture is None else copy.back(answer.picture.reshape(call.shape)),
        {quantity.key: quantity.value for quantity in answer.quantities},
        answer.counts,
        answer.mark,
        applied.result,
    )


@dataclass(frozen=True, slots=True, repr=False)
class Chained(Shown):
    """What a chain makes of a picture, with its verification and its times.

    Parameters
    ----------
    values : array of the picture's shape and kind, float32
        The last step's result as it is; of another operation alone in the picture's type, as it writes it.
    picture : array of the picture's shape, type and kind
        The same in the picture's type; values outside its range are treated as the chain says.
    steps : tuple of StepTime
        Each step with its variant and its time by itself, ms; no times in the simulator.
    result : Measurement
        The chain as a whole: device, timing, verification.
    """

    values: Any
    picture: Any
    steps: tuple[StepTime, ...]
    result: Measurement[ChainProblem]

    def _shown(self) -> list[tuple[str, str]]:
        times = ((step.id, "" if step.ms is None else f"{step.ms:.3g} ms") for step in self.steps)
        return [("Values", array_text(self.values)), *times, *self.result.summary.items()]


def chain(
    image: Image,
    steps: ChainLike,
    *,
    device: str | None = None,
    layout: str | Layout = Layout.PITCHED,
    budget_s: float = 0.1,
) -> Chained:
    """Do the steps of a chain one after the other, verify the result and time it.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), or Picture
        As for `correlate`; the alpha of a `Picture` is left out. An array in a GPU's memory is copied to the
        host once, and results are copied back to arrays of its kind.
    steps : Chain, str, path, or list of dict
        A ready chain ("sobel-magnitude"; `python main.py chains` lists them), a file, or the steps as a file
        has them: [{"id": "blur", "mask": "gaussian:9:1.5"}, {"operation": "median"}]. docs/chains.md has all.
    device, layout
        As for `correlate`; all steps run on one device.
    budget_s : float
        Time to spend on samples, seconds.

    Raises
    ------
    VerificationFailed
        The result is further from the float64 oracle of the whole chain than rounding explains.
    EngineError
        Anything else; says what, in which step, why and what helps.

    Examples
    --------
    >>> import engine, numpy
    >>> step = numpy.zeros((5, 6), numpy.uint8)
    >>> step[:, 3:] = 10
    >>> engine.chain(step, "sobel-magnitude", device="cpu").values[2].tolist()
    [0.0, 0.0, 40.0, 40.0, 0.0, 0.0]
    """
    copy = host_copy(image, device)
    request = of_chain(as_chain(steps), device=as_device(copy.device), layout=Layout.named(layout))
    call = PictureCall(copy.array, request)
    applied = measured(call, SamplingPlan(budget_s=as_seconds(budget_s)))
    values = applied.values.reshape(call.shape)
    picture = values
    if values.dtype != call.samples.dtype:
        picture = to_depth(values, call.samples.dtype, range_mode=call.request.chain.range)
    result = with_steps(applied.result, call.job())
    return Chained(copy.back(values), copy.back(picture), timed_steps(call, result), result)


def as_chain(steps: ChainLike) -> Chain:
    """Return a chain in any of its forms; an `EngineError` for what is none."""
    if isinstance(steps, Chain):
        return steps
    if isinstance(steps, str | os.PathLike):
        return chain_named(os.fspath(steps))
    if isinstance(steps, Sequence) and all(isinstance(step, Mapping) for step in steps):
        return chain_from({"steps": list(map(dict, steps))})  # type: ignore[arg-type]
    why = f"a {type(steps).__name__} is no chain"
    raise BadValue("the steps", why, 'Pass a name, a file, or a list such as [{"mask": "sobel-x"}].')


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
        Anything else; raised before any mask is applied, if one of them cannot be.

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
        remedy = "Pass a list of masks, or call engine.apply with one."
        raise BadValue("The masks are not a list", "this call applies several masks", remedy)
    copy = host_copy(image, device)
    array = as_array(copy.array)
    samples = as_samples(array)
    how = border, cval, anchor, variant, block, copy.device, flip, layout, "float32"
    requests = [PictureCall(samples, request_of(mask, how)) for mask in masks]
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
    for number, outcome in enumerate(measure_each(jobs, backend(chosen.key), plan), start=1):
        try:
            applied.append(as_applied(outcome, array.shape))
        except VerificationFailed as error:
            why = f"mask {number} of {len(jobs)}: {error.why}"
            raise VerificationFailed(error.what, why, error.remedy) from error
    values = copy.back(np.stack([one.values for one in applied]))
    return AppliedBank(values, tuple(one.result for one in applied))
