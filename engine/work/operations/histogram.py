"""Histogram: how many samples of each channel lie in each of some equal intervals from black to white."""

import numpy as np

from engine.errors import BadValue
from engine.verify.verification import Verification
from engine.work.operations.contract import (
    Answer,
    Checkpoint,
    OperatedJob,
    Operation,
    OperationOperands,
    Parameter,
    Quantity,
    ResultKind,
)
from engine.work.operations.problem import OperationProblem, Shape, Value

_MOST_SAMPLES = 2**32 - 1
# Samples counted at once by the oracle: its whole numbers and floats of 64 bits take 24 bytes each.
_BAND_SAMPLES = 1 << 20


BINS = Parameter(
    name="bins",
    title="Bins",
    explanation="Equal intervals from black to white; a power of two, so that no sample's bin depends on "
    "rounding. Of float32, what lies outside 0 to 1 is counted in the first or last bin.",
    default=256,
    choices=(4, 8, 16, 32, 64, 128, 256),
)


def shape(height: int, width: int, channels: int, parameters: dict[str, Value]) -> Shape:
    """Return (channels, bins, 1)."""
    return channels, int(parameters["bins"]), 1


def bins_of(samples: np.ndarray, bins: int) -> np.ndarray:
    """Return the bin of each sample, exact: bins are a power of two; NaN has none, -1."""
    if samples.dtype.kind == "u":
        levels = int(np.iinfo(samples.dtype).max) + 1
        return samples.astype(np.int64) * bins // levels
    with np.errstate(invalid="ignore", over="ignore"):
        # Multiplied by a power of two, which rounds nothing; what lies outside 0 to 1 is in the last bins.
        scaled = np.clip(samples.astype(np.float64) * bins, 0, bins - 1)
        return np.where(np.isnan(samples), -1, np.floor(scaled)).astype(np.int64)


def refuse(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse more pixels than a count of 32 bits holds."""
    if samples.shape[0] * samples.shape[1] > _MOST_SAMPLES:
        what = f"a picture of {samples.shape[1]:,} × {samples.shape[0]:,}"
        raise BadValue(what, f"a count has 32 bits, at most {_MOST_SAMPLES:,}", "Take a part of it.")


def counted(samples: np.ndarray, problem: OperationProblem, checkpoint: Checkpoint) -> np.ndarray:
    """Return the counts of the whole picture, by NumPy: int64, (channels, bins)."""
    bins = problem.whole("bins")
    exact = np.zeros((problem.channels, bins), np.int64)
    rows = max(1, _BAND_SAMPLES // (problem.width * problem.channels))
    for top in range(0, problem.height, rows):
        checkpoint(top / problem.height)
        found = bins_of(samples[top : top + rows], bins)
        for channel, counts in enumerate(exact):
            own = found[..., channel]
            counts += np.bincount(own[own >= 0], minlength=bins)
    return exact


def verify(values: np.ndarray, job: OperatedJob, checkpoint: Checkpoint) -> Verification:
    """Compare every count with whole numbers counted by NumPy: nothing is rounded, so they are equal."""
    reason, error, wrong = "", 0.0, 0
    problem = job.problem
    exact = counted(job.operands.samples, problem, checkpoint)
    for channel, counts in enumerate(exact):
        off = np.abs(values[channel, :, 0].astype(np.int64) - counts)
        error, wrong = max(error, float(off.max())), wrong + int(np.count_nonzero(off))
        if off.any() and not reason:
            at = int(np.flatnonzero(off)[0])
            reason = (
                f"not verified: channel {channel}, bin {at} is {values[channel, at, 0]}, "
                f"and {counts[at]} samples lie in it"
            )
    return Verification(
        not reason, error, 0.0, problem.pixels, problem.pixels, not reason, reason, wrong_samples=wrong
    )


def answer(values: np.ndarray, problem: OperationProblem, operands: OperationOperands) -> Answer:
    """Return the counts, with how many there are and the fullest bin of all channels together."""
    counts = values[..., 0].astype(np.int64)
    bins, every = counts.shape[1], counts.sum(axis=0)
    total, fullest = int(every.sum()), int(every.argmax())
    low, high = (fullest + step for step in (0, 1))
    if problem.is_float:
        where = f"{low / bins:.4g} to {high / bins:.4g}"
    else:
        levels = int(problem.full_scale) + 1
        first, last = low * levels // bins, high * levels // bins - 1
        where = f"{first}" if first == last else f"{first} to {last}"
    quantities = [
        Quantity(
            "counted", "Counted", total, f"{total:,} samples", "Samples that lie in a bin; NaN does not."
        ),
        Quantity(
            "fullest_bin",
            "Fullest bin",
            fullest,
            f"{where} ({int(every[fullest]):,} samples)",
            "The interval with the most samples, of all channels together.",
        ),
    ]
    return Answer(quantities=tuple(quantities), counts=counts)


HISTOGRAM = Operation(
    key="histogram",
    title="Histogram",
    teaches="Threads that count into the same bin must take turns: atomics in global memory against a "
    "partial histogram per block in shared memory.",
    result=ResultKind.PLOT,
    parameters=(BINS,),
    result_shape=shape,
    result_dtype="uint32",
    refuse=refuse,
    verify=verify,
    answer=answer,
    proof="Whole numbers: every count must be equal.",
)
