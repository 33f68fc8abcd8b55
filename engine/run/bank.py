"""One run of a bank of masks: one launch, every result verified."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engine.device.backend import Backend
from engine.geometry.layout import Layout
from engine.mask.bank import Bank
from engine.mask.mask import Mask
from engine.run.measure import Outcome, Verifier, measure
from engine.run.plan import SamplingPlan
from engine.run.sampling import Checkpoint
from engine.tasks.filtering.agreement import AFFORDABLE_MULTIPLY_ADDS, verify
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.planner import Choice
from engine.verify.verification import Verification


def measure_bank(
    choice: Choice,
    problem: Problem,
    bank: Bank,
    samples: np.ndarray,
    backend: Backend,
    plan: SamplingPlan,
    *,
    checkpoint: Checkpoint = lambda step: None,
    seed: int = 0,
    layout: Layout = Layout.PITCHED,
    affordable: int | None = None,
) -> Outcome:
    """Apply all masks of a bank to one picture: verify every result, warm up, sample.

    Parameters
    ----------
    choice : Choice
        A variant made for this bank (`engine.variants.ladder.implicit_gemm.for_bank`), which writes the results one
        below the other, and its block.
    problem : Problem
        Of one of the masks.
    bank : Bank
    samples : ndarray of shape (H, W, C), of the problem's dtype
    backend : Backend
    plan : SamplingPlan
    checkpoint : callable of Step
        Called before each step.
    seed : int
        Of the rectangles that are verified where the whole picture is too much.
    layout : Layout
        Of the rows on a CUDA device.
    affordable : int, optional
        Multiply-adds that the oracle may spend on each mask. None: on all together what it may spend on one filter,
        so that the proof of 32 masks keeps nobody waiting for a minute.

    Returns
    -------
    Outcome
        `values` has the shape (masks, H, W, C). The times are those of the whole bank; the verification is passed if
        every result's is, and tells of the worst.

    Raises
    ------
    Cancelled
        By the checkpoint.
    DeviceFault
        As `engine.run.measure.measure`.
    """
    height, width, channels = samples.shape
    host_out = np.empty((len(bank) * height, width, channels), np.float32)
    outcome = measure(
        choice,
        problem,
        bank.masks[0],
        samples,
        backend,
        plan,
        checkpoint=checkpoint,
        seed=seed,
        host_out=host_out,
        layout=layout,
        verifier=_verifier(bank, AFFORDABLE_MULTIPLY_ADDS // len(bank) if affordable is None else affordable),
    )
    values = None if outcome.values is None else outcome.values.reshape(len(bank), *samples.shape)
    result = replace(outcome.result, mask_name=bank.name, weights_digest=bank.weights_digest)
    return replace(outcome, values=values, result=result)


def _verifier(bank: Bank, affordable: int) -> Verifier:
    def verify_each(
        result: np.ndarray,
        image: np.ndarray,
        mask: Mask,
        problem: Problem,
        *,
        seed: int,
        checkpoint: Callable[[float], None],
        added_error: float,
    ) -> Verification:
        found = []
        parts = result.reshape(len(bank), *image.shape)
        for number, (part, own) in enumerate(zip(parts, bank.masks, strict=True)):
            checkpoint(number / len(bank))
            found.append(
                verify(part, image, own, problem, seed=seed, affordable=affordable, added_error=added_error)
            )
        return together(found)

    return verify_each


def together(each: list[Verification]) -> Verification:
    """Return what the verifications of a bank's results say as one: the worst error, the first fault.

    The worst error is the largest part of its own bound, because results of different masks differ in size.
    """
    worst = max(each, key=_share_of_bound)
    fault = next((number for number, one in enumerate(each) if not one.passed), None)
    return Verification(
        passed=fault is None,
        max_error=worst.max_error,
        bound=worst.bound,
        checked_pixels=sum(one.checked_pixels for one in each),
        total_pixels=sum(one.total_pixels for one in each),
        exact=all(one.exact for one in each),
        reason="" if fault is None else f"mask {fault + 1} of {len(each)}: {each[fault].reason}",
    )


def _share_of_bound(one: Verification) -> float:
    if one.max_error == 0.0:
        return 0.0
    return one.max_error / one.bound if one.bound else math.inf
