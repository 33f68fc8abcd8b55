"""Find a patch: the normalised cross-correlation of a small picture with every position of a large one.

With w the samples of a window, m their mean, and t those of the patch, less their mean and scaled to squares
that add up to 1:

    score = sum (w - m) t / sqrt(sum (w - m)^2),   -1 to 1

and 0 for a window whose sum below the root is `LEAST_SQUARES` or less: one of one value has no score, and of
smaller squares float32 has no digits.

A variant takes from each sample the window's first one, w0, before anything else: a = w - w0 is off by u |a|
at most, where w itself may be 1e6 with a texture of 1. The bound, with m now the mean of a: with k roundings
it is off by d <= gamma_k mean(|a|). As the exact differences a - m add up to 0, so nearly do those of the
patch: a wrong mean changes the sum below the root by n d^2 only, and the one above it by d |sum t|. What a
itself is off adds u sum |a t| above and 2 u sum |a (a - m)| below, and beyond that each sum is off by gamma_k
of its magnitudes. As w0 lies in the window, none of these is more than some gamma_k of the window's spread.

Source: J. P. Lewis, "Fast normalized cross-correlation", Vision Interface 1995.
"""

from functools import partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from engine.errors import BadValue
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF, relative_bound
from engine.verify.regions import Region, affordable_regions
from engine.verify.verification import Verification, kept, verify_regions
from engine.work.operations.contract import (
    AFFORDABLE,
    Answer,
    Checkpoint,
    Mark,
    OperatedJob,
    Operation,
    OperationOperands,
    Parameter,
    Patch,
    Quantity,
    ResultKind,
)
from engine.work.operations.problem import OperationProblem, Shape, Value

MOST_SIDE = 64
MOST_SAMPLE = 1e15
LEAST_SQUARES = 2.0**-110
_BAND_VALUES = 1 << 18
MIDDLE = -1


def shape(height: int, width: int, channels: int, parameters: dict[str, Value]) -> Shape:
    """Return the shape of the scores: one for each position where the patch lies inside."""
    return height - int(parameters["height"]) + 1, width - int(parameters["width"]) + 1, 1


def corner_of(samples: np.ndarray, parameters: dict[str, Value]) -> tuple[int, int]:
    """Return row and column of the patch that is cut from the picture itself."""
    sides = int(parameters["height"]), int(parameters["width"])
    wanted = int(parameters["top"]), int(parameters["left"])
    row, column = (
        (length - side) // 2 if at == MIDDLE else at
        for length, side, at in zip(samples.shape[:2], sides, wanted, strict=True)
    )
    return row, column


def refuse(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse a patch larger than the picture, and samples whose squares float32 cannot hold."""
    height, width = int(parameters["height"]), int(parameters["width"])
    if height > samples.shape[0] or width > samples.shape[1]:
        raise BadValue(
            f"a patch of {width} × {height}",
            f"the picture has {samples.shape[1]} × {samples.shape[0]} pixels, and the patch must lie inside",
            "Choose a smaller patch.",
        )
    if samples.dtype.kind == "f":
        finite = samples[np.isfinite(samples)]
        low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
        if max(-low, high) > MOST_SAMPLE:
            what = f"samples up to {max(-low, high):.3g}"
            raise BadValue(what, "their squares pass the range of float32", "Divide the picture first.")
        if (high - low) > 0.0 and (high - low) ** 2 <= LEAST_SQUARES:
            what = f"samples that differ by {high - low:.3g} at most"
            raise BadValue(what, "their squares are too small for float32", "Multiply the picture first.")


def patch_from(samples: np.ndarray, parameters: dict[str, Value]) -> np.ndarray:
    """Return the patch that the parameters cut from the picture itself.

    Raises BadValue where it reaches over the picture's edge.
    """
    height, width = int(parameters["height"]), int(parameters["width"])
    row, column = corner_of(samples, parameters)
    if row + height > samples.shape[0] or column + width > samples.shape[1]:
        raise BadValue(
            f"a patch of {width} × {height} from column {column}, row {row} on",
            f"it reaches over the edge of the picture of {samples.shape[1]} × {samples.shape[0]}",
            "Move it, or choose a smaller one.",
        )
    return samples[row : row + height, column : column + width]


def ready_patch(cells: np.ndarray, samples: np.ndarray) -> Patch:
    """Return a patch (h, w, C) made ready for a picture; a `BadValue` says why it can be found nowhere."""
    height, width, channels = cells.shape
    if max(height, width) > MOST_SIDE:
        what, why = f"a patch of {width} × {height}", f"each side can have up to {MOST_SIDE} pixels"
        raise BadValue(what, why, "Cut a smaller one out.")
    if channels != samples.shape[2]:
        names = {1: "grey", 3: "RGB"}
        found, needed = (names.get(number, f"{number} channels") for number in (channels, samples.shape[2]))
        raise BadValue(f"a patch that is {found}", f"the picture is {needed}", "Give both the same colours.")
    numbers = cells.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise BadValue("the patch", "it has NaN or infinity, which equal nothing", "Take another patch.")
    if numbers.max() == numbers.min():
        raise BadValue(
            "the patch",
            f"all its samples are {numbers.flat[0]:g}, and the correlation divides by their spread, 0",
            "Take a patch with an edge or a texture in it.",
        )
    numbers = numbers / np.abs(numbers).max()
    numbers -= numbers.mean()
    return Patch((numbers / np.sqrt((numbers * numbers).sum())).astype(np.float32))


def _windows(samples: np.ndarray, patch: Patch, region: Region) -> np.ndarray:
    """Return the windows of a region of positions, (rows, columns, values of a patch), float64."""
    (rows, columns), (height, width, channels) = region.ranges, patch.shape
    part = samples[rows.start : rows[-1] + height, columns.start : columns[-1] + width].astype(np.float64)
    views = sliding_window_view(part, (height, width), axis=(0, 1))[:: region.step, :: region.step]
    # A copy: of a patch of one pixel the reshaped array would still be the view, which cannot be written.
    windows = views.transpose(0, 1, 3, 4, 2).reshape(len(rows), len(columns), height * width * channels)
    return np.array(windows)


def scores(samples: np.ndarray, patch: Patch, region: Region) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, what they reach, and bounds of a region of positions, float64, by the definition."""
    windows = _windows(samples, patch, region)
    weights = patch.weights.astype(np.float64).reshape(-1)
    height, width, channels = patch.shape
    # A partial sum per row of the window and channel, then their sum.
    gamma = relative_bound(width + height * channels + 7)
    is_finite = np.isfinite(windows).all(axis=2)
    windows[~is_finite] = 0.0
    windows -= windows[..., :1].copy()
    size = np.abs(windows)
    off = gamma * size.mean(axis=2) + 2 * SMALLEST_SUBNORMAL
    windows -= windows.mean(axis=2, keepdims=True)
    apart = np.abs(windows)
    above = windows @ weights
    below = np.einsum("rcn,rcn->rc", windows, windows)
    above_off = (gamma * apart + UNIT_ROUNDOFF * size) @ np.abs(weights) + off * (
        abs(weights.sum()) + gamma * np.abs(weights).sum()
    )
    below_off = (
        (gamma * below + 2 * UNIT_ROUNDOFF * (1 + gamma) * np.einsum("rcn,rcn->rc", apart, size))
        + 2 * (1 + gamma) * weights.size * (off * off + SMALLEST_SUBNORMAL)
        + 2 * UNIT_ROUNDOFF**2 * np.einsum("rcn,rcn->rc", size, size)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        score = above / np.sqrt(below)
        least = below - below_off
        bound = above_off / np.sqrt(least) + np.abs(score) * below_off / least + 8 * UNIT_ROUNDOFF
    # Near the least sum either may be right, the score or 0.
    is_flat, is_either = below <= LEAST_SQUARES, np.abs(below - LEAST_SQUARES) <= below_off
    bound = np.where(is_either, np.abs(score) + 8 * UNIT_ROUNDOFF, np.where(is_flat, 0.0, bound))
    score = np.where(is_flat, 0.0, score)
    score[~is_finite], bound[~is_finite] = np.nan, 0.0
    return score[..., np.newaxis], np.ones((*score.shape, 1)), bound[..., np.newaxis]


def verify(values: np.ndarray, job: OperatedJob, checkpoint: Checkpoint) -> Verification:
    """Compare the scores with the definition in float64."""
    patch = job.operands.constant
    assert patch is not None
    rows, columns, _ = job.problem.result_shape
    cost = 8 * patch.weights.size
    of = kept(partial(scores, job.operands.samples, patch))
    return verify_regions(
        values,
        affordable_regions(rows, columns, (1, 1), cost, job.affordable or AFFORDABLE, job.seed),
        max(1, _BAND_VALUES // patch.weights.size),
        lambda band: of(band)[0],
        lambda band: of(band)[1:],
        checkpoint,
    )


def answer(values: np.ndarray, problem: OperationProblem, operands: OperationOperands) -> Answer:
    """Return the best match, marked in the picture."""
    scores_found = np.where(np.isnan(values[..., 0]), -2.0, values[..., 0])
    row, column = np.unravel_index(int(scores_found.argmax()), scores_found.shape)
    best = float(scores_found[row, column])
    height, width = problem.whole("height"), problem.whole("width")
    if best < -1.5:
        raise BadValue(
            "the patch", "every position of the picture has NaN or infinity in it", "Mend the picture."
        )
    mark = Mark(int(row), int(column), height, width)
    quantities = (
        Quantity("score", "Best score", best, f"{best:.4f}", "1: the same but for brightness and contrast."),
        Quantity("column", "Column", mark.column, f"{mark.column}", "Of the upper left corner, pixels."),
        Quantity("row", "Row", mark.row, f"{mark.row}", "Of the upper left corner, pixels."),
    )
    return Answer(operands.samples, quantities, mark=mark)


def _corner(name: str, title: str) -> Parameter:
    return Parameter(
        name=name,
        title=title,
        explanation=f"{'Left' if name == 'left' else 'Upper'} edge of the patch (-1: centred). Not used "
        "where the patch is a file.",
        default=MIDDLE,
        least=MIDDLE,
        most=(1 << 24) - 1,
        unit="px",
        least_word="middle",
    )


def _side(name: str, title: str) -> Parameter:
    return Parameter(
        name=name,
        title=title,
        explanation=f"Pixels of the patch {'across' if name == 'width' else 'down'}; of a file, its own.",
        default=16,
        least=1,
        most=MOST_SIDE,
        unit="px",
    )


FIND_PATCH = Operation(
    key="find-patch",
    title="Find a patch (correlation)",
    teaches="Normalised cross-correlation: a thread per position compares the patch with what lies there, "
    "whatever its brightness and contrast; a block's shared tile serves neighbouring positions.",
    result=ResultKind.MARK,
    parameters=(
        _corner("left", "Left"),
        _corner("top", "Top"),
        _side("width", "Width"),
        _side("height", "Height"),
    ),
    takes_patch=True,
    result_shape=shape,
    result_dtype="float32",
    refuse=refuse,
    verify=verify,
    answer=answer,
    proof="A bound on the rounding of each window, from its magnitudes.",
)
