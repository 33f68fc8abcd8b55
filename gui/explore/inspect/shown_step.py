"""The step of a chain whose result is shown: how it was computed, and the jobs whose results it reads.

Chains take a while to import, so this module is imported when a chain's result is looked at. No Qt in here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from engine.image.convert import full_scale_of
from engine.results.measurement import StepTime
from engine.work.filtering.one_pixel import Samples
from engine.work.messages import PictureJob
from engine.work.one_combination import combined
from engine.work.steps import HOW, PICTURE, AnyStep, Chain, CombineStep, MaskStep
from gui.explore.inspect.lens import CombineLens, InChain
from gui.explore.mask.preset_names import title_of


@dataclass(frozen=True, slots=True, eq=False)
class ShownStep:
    """A step with all that its result depends on."""

    step: AnyStep
    reads: tuple[PictureJob | None, ...]
    """The jobs whose results it reads; None is the picture."""
    words: InChain
    alone: PictureJob | None
    """The job that it would be on the picture; None where it makes one result of two."""


def shown_step(job: PictureJob, ran: Sequence[StepTime], device: str) -> ShownStep:
    """Return the step whose result a job's is, computed on a device; `ran` says which variants did it.

    What it reads is asked for by the same variants, so that it has the same bits.
    """
    keys = {one.id: one.variant for one in ran}
    chain = _by_variants(job.chain.needed(job.shown), keys)
    step = chain.steps[-1]
    reads = tuple(
        None if id_ == PICTURE else replace(job, chain=chain.needed(id_), shown="", device=device)
        for id_ in step.inputs
    )
    names = tuple(_name(job.chain, id_) for id_ in step.inputs)
    alone: PictureJob | None = None
    if step.kind != CombineStep.kind:
        only = replace(job.chain, steps=(replace(step, input=""),))
        alone = replace(job, chain=only, shown="", device=device, result_type=step.result_type)
    return ShownStep(step, reads, InChain(_number(job.chain, step.id), names), alone)


def combine_lens(
    shown: ShownStep, job: PictureJob, pixel: tuple[int, int], read: Sequence[Samples], result: Samples
) -> CombineLens:
    """Look at a pixel (row, column) of a step that makes one result of two, each (H, W, C)."""
    step, white = shown.step, full_scale_of(np.dtype(job.picture.dtype))
    assert isinstance(step, CombineStep)
    first, second = (np.atleast_1d(one[pixel]).astype(np.float32) for one in read)
    made, found = combined(step, first, second), np.atleast_1d(result[pixel])
    formula = f"{step.title.capitalize()}: {HOW[step.how].partition(';')[0]}.".replace("-", "−")
    return CombineLens(
        step, pixel, formula, (first, second), made, found, job.chain.range, white, shown.words
    )


def _by_variants(chain: Chain, keys: dict[str, str]) -> Chain:
    steps = tuple(
        step if step.kind == CombineStep.kind else replace(step, variant=keys.get(step.id, step.variant))
        for step in chain.steps
    )
    return replace(chain, steps=steps)


def _number(chain: Chain, id_: str) -> str:
    return f"step {[step.id for step in chain.steps].index(id_) + 1}"


def _name(chain: Chain, id_: str) -> str:
    if id_ == PICTURE:
        return "the picture"
    step: Any = next(step for step in chain.steps if step.id == id_)
    if step.kind == MaskStep.kind:
        title = title_of(step.mask) or step.title
    else:
        title = step.title if step.kind == CombineStep.kind else step.operation.replace("-", " ")
        title = title.capitalize()
    return f"{_number(chain, id_)} ({title})"
