"""Histogram equalisation: levels are spread so that each occurs about as often as any other."""

import numpy as np

from engine.verify.regions import Region
from engine.verify.verification import Verification
from engine.work.operations.cells import Range, rounded
from engine.work.operations.contract import (
    Checkpoint,
    OperatedJob,
    Operation,
    ResultKind,
    verified_by,
)
from engine.work.operations.histogram import BINS, bins_of, counted, refuse
from engine.work.operations.problem import OperationProblem

# Both counts and their quotient are rounded once each.
ROUNDINGS = 3


def levels_of(counts: np.ndarray, problem: OperationProblem) -> np.ndarray:
    """Return the new level of each bin, float64 (channels, bins): exact whole numbers for 8 and 16 bit.

    The samples below a bin and in it, less those of the darkest bin that has any, as a share of all less
    those. A channel with all samples in one bin has no such levels, NaN: it stays as it is.
    """
    levels = np.full(counts.shape, np.nan)
    for channel, of_channel in enumerate(counts.tolist()):
        darkest = next((count for count in of_channel if count), 0)
        among = sum(of_channel) - darkest
        below = -darkest
        for bin_, count in enumerate(of_channel):
            below += count
            if among and below >= 0:
                white = int(problem.full_scale)
                exact = (2 * white * below + among) // (2 * among)
                levels[channel, bin_] = below / among if problem.is_float else exact
    return levels


def mapped(samples: np.ndarray, levels: np.ndarray, problem: OperationProblem) -> np.ndarray:
    """Return the level of each sample's bin, float64; what has none stays: NaN, and samples of one bin."""
    bins = bins_of(samples, problem.whole("bins"))
    found = np.stack([levels[channel, bins[..., channel]] for channel in range(problem.channels)], axis=-1)
    kept: np.ndarray = np.where((bins < 0) | np.isnan(found), samples.astype(np.float64), found)
    return kept


def verify(values: np.ndarray, job: OperatedJob, checkpoint: Checkpoint) -> Verification:
    """Count the whole picture by NumPy, and compare pixels with the levels that follow."""
    samples, problem = job.operands.samples, job.problem
    levels = levels_of(counted(samples, problem, lambda part: checkpoint(part / 2)), problem)

    def found(samples: np.ndarray, problem: OperationProblem, region: Region) -> Range:
        value = mapped(samples[region.slices], levels, problem)
        same = Range(value, value, value)
        return rounded(*same.parts, 1 + ROUNDINGS) if problem.is_float else same

    check = verified_by(found, cost=4)
    return check(values, job, lambda part: checkpoint((1 + part) / 2))


EQUALISE = Operation(
    key="equalise",
    title="Histogram equalisation",
    teaches="What a histogram is for: its running sums, a scan that all threads make together, give each bin "
    "a new level, so that a flat picture uses the whole scale.",
    result=ResultKind.PICTURE,
    parameters=(BINS,),
    refuse=refuse,
    verify=verify,
    proof="8 and 16 bit: equal; float32: two counts and their quotient, one rounding each.",
)
