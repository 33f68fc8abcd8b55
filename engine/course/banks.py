"""A bank of masks in one launch of `implicit-gemm`, as the CNN report applies several filters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.mask.mask import Mask
from engine.run.task import Job
from engine.variants.ladder.implicit_gemm import for_bank
from engine.work.filter_task import Filtering, MaskJob
from engine.work.filtering.agreement import AFFORDABLE_MULTIPLY_ADDS, verify
from engine.work.filtering.problem import Problem
from engine.work.pictures import Operands

if TYPE_CHECKING:
    from engine.device.backend import Backend, Buffers
    from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True, eq=False)
class BankOperands(Operands[Mask]):
    """A picture with all masks of a bank, the first of which is the constant."""

    bank: tuple[Mask, ...] = ()


class BankFiltering(Filtering):
    """Filtering with a variant that writes the masks' results one below the other."""

    def allocate(self, backend: "Backend", job: MaskJob, host_out: np.ndarray | None = None) -> "Buffers":
        """Return buffers for the picture and all results."""
        height, width, channels = job.operands.samples.shape
        out = np.empty((len(_bank_of(job)) * height, width, channels), np.float32)
        return backend.allocate(job.operands.samples, out, job.operands.layout)

    def verify(self, values: np.ndarray, job: MaskJob, checkpoint: Callable[[float], None]) -> "Verification":
        """Compare every result with the oracle; return the first wrong one's verification, or the last."""
        bank, samples = _bank_of(job), job.operands.samples
        affordable = AFFORDABLE_MULTIPLY_ADDS // len(bank)
        for number, (mask, part) in enumerate(
            zip(bank, values.reshape(len(bank), *samples.shape), strict=True)
        ):
            checkpoint(number / len(bank))
            found = verify(part, samples, mask, job.problem, seed=job.seed, affordable=affordable)
            if not found.passed:
                break
        return found


def _bank_of(job: MaskJob) -> tuple[Mask, ...]:
    assert isinstance(job.operands, BankOperands)
    return job.operands.bank


BANK_FILTERING = BankFiltering()


def bank_job(bank: tuple[Mask, ...], problem: Problem, samples: np.ndarray, *, seed: int = 0) -> MaskJob:
    """Return the job of applying all masks, of one shape and anchor, to one picture in one launch.

    Parameters
    ----------
    problem : Problem
        The problem of one of the masks.
    samples : ndarray of shape (H, W, C), of the problem's dtype
    """
    chosen = for_bank(bank)
    operands = BankOperands(samples, bank[0], bank=bank)
    return Job(BANK_FILTERING, chosen, chosen.default_block, problem, operands, seed=seed)
