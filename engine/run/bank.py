"""The verification of a bank of masks: every result, and what they say as one."""

import math
from collections.abc import Callable

import numpy as np

from engine.mask.bank import Bank
from engine.tasks.filtering.agreement import AFFORDABLE_MULTIPLY_ADDS, verify
from engine.tasks.filtering.problem import Problem
from engine.verify.verification import Verification


def verify_bank(
    result: np.ndarray,
    image: np.ndarray,
    bank: Bank,
    problem: Problem,
    *,
    seed: int,
    affordable: int | None,
    checkpoint: Callable[[float], None],
    added_error: float,
) -> Verification:
    """Compare every result of a bank with the oracle, as `agreement.verify` does with one.

    Parameters
    ----------
    result : ndarray of shape (masks x H, W, C)
        The results one below the other.
    affordable : int, optional
        Multiply-adds for each mask; None: for all together what one filter may cost.
    """
    if affordable is None:
        affordable = AFFORDABLE_MULTIPLY_ADDS // len(bank)
    found = []
    parts = result.reshape(len(bank), *image.shape)
    for number, (part, own) in enumerate(zip(parts, bank.masks, strict=True)):
        checkpoint(number / len(bank))
        found.append(
            verify(part, image, own, problem, seed=seed, affordable=affordable, added_error=added_error)
        )
    return together(found)


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
