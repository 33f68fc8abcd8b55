"""How much of a result lies outside the range of the picture, and is clipped where it is shown or saved.

Half of what an edge filter gives is negative: shown as black, the filter looks broken.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from engine.image.convert import full_scale_of
from engine.mask.mask import Mask
from engine.run.task import AnyJob
from engine.work.problem import Problem

HINT_FROM = 0.2
"""A larger part of a result that is clipped is worth a word."""

# Cells that a sample of results may take: 1 to 2 ms. At least so many results are looked at.
_MOST_CELLS = 1 << 18
_LEAST_RESULTS = 256
# Of fewer a share says little: they are numbers to try out.
_FEWEST_RESULTS = 64


@dataclass(frozen=True, slots=True)
class Clipped:
    """Parts of a result, 0 to 1, below and above what a range mode shows: with "clip" 0 and full scale."""

    below: float = 0.0
    above: float = 0.0
    range_mode: str = field(default="clip", kw_only=True)

    @property
    def share(self) -> float:
        """The part that is clipped."""
        return self.below + self.above

    @property
    def better_range(self) -> str:
        """The range mode that shows it; empty where so little is clipped that it needs no word."""
        mode = "absolute" if self.below >= self.above and self.range_mode == "clip" else "rescale"
        return mode if self.share > HINT_FROM else ""

    @property
    def words(self) -> str:
        """What is clipped, in a sentence."""
        is_below = self.below >= self.above
        share, what = (self.below, "negative") if is_below else (self.above, "above full scale")
        if self.range_mode != "clip":
            what = f"outside the display range {self.range_mode}"
        return f"{100 * share:.0f} % of the values are {what} and shown {'black' if is_below else 'white'}"

    @property
    def in_short(self) -> str:
        """The same in a few words; empty where so little is clipped that it needs none."""
        ends = ((self.below, "black"), (self.above, "white"))
        words = [f"{100 * part:.0f} % clipped to {end}" for part, end in ends if part >= HINT_FROM / 2]
        return ", ".join(words) if self.share > HINT_FROM else ""

    @property
    def in_shortest(self) -> str:
        """The same without where to, for one line beside other things."""
        share = sum(part for part in (self.below, self.above) if part >= HINT_FROM / 2)
        return f"{100 * share:.0f} % clipped" if self.in_short else ""


def can_clip(mask: Mask, white: float, least: float = 0.0) -> bool:
    """Return whether results of samples from `least` to `white` can lie outside 0 .. white."""
    positive, negative = float(mask.weights.clip(min=0).sum()), float(mask.weights.clip(max=0).sum())
    low, high = min(least, 0.0), white
    lowest = positive * low + negative * high + mask.offset
    highest = positive * high + negative * low + mask.offset
    # A mean whose weights add up to 1 but for their rounding clips nothing.
    return lowest < -1e-6 * white or highest > white * (1 + 1e-6)


def clipped_of(job: AnyJob, values: np.ndarray, range_mode: str) -> Clipped:
    """Return how much of a result is clipped as it is shown in a range mode.

    Of a mask some variants write values that are clipped already: its windows all over the picture say it,
    and only a mask that can clip costs a look.
    """
    problem, samples = job.problem, job.operands
    white = full_scale_of(samples.dtype)
    if problem.task != Problem.task:
        return clipped_values(np.atleast_3d(values), white, range_mode)
    mask, mode = job.constant, range_mode if problem.result_dtype == "float32" else "clip"
    is_wide = problem.dtype == "float32" or mode == "offset" or can_clip(mask, white, problem.ghost_value)
    return sample_clipped(samples, mask, white, mode) if is_wide and mode != "rescale" else Clipped()


def clipped_in_file(job: AnyJob, values: np.ndarray, saved: np.dtype, range_mode: str | None) -> Clipped:
    """Return how much of a result is clipped in a file of a type: in another range, or in floats, nothing."""
    return clipped_of(job, values, "clip") if range_mode == "clip" and saved.kind == "u" else Clipped()


def sample_clipped(samples: np.ndarray, mask: Mask, white: float, range_mode: str = "clip") -> Clipped:
    """Return how much of a result lies outside what is shown, by windows all over the picture (H, W, C).

    It takes 0.6 ms whatever the size, and serves kernels that clip themselves; a look at every result of 12
    megapixels takes 28 ms.
    """
    height, width, channels = samples.shape
    rows, columns = height - mask.rows + 1, width - mask.columns + 1
    if rows < 1 or columns < 1 or rows * columns < _FEWEST_RESULTS:
        return Clipped()
    results = max(_LEAST_RESULTS, _MOST_CELLS // (mask.taps * channels))
    step = max(1, int(np.ceil(np.sqrt(rows * columns / results))))
    top, left = step // 2 % rows, step // 2 % columns
    windows = sliding_window_view(samples, mask.shape, (0, 1))[top::step, left::step]
    # NaN and infinity spread as in the result.
    with np.errstate(all="ignore"):
        values = np.tensordot(windows.astype(np.float32), mask.weights32, ((3, 4), (0, 1)))
        return _outside(values + np.float32(mask.offset), white, range_mode)


def clipped_values(values: np.ndarray, white: float, range_mode: str = "clip") -> Clipped:
    """Return how much of a result (H, W, C) itself lies outside what is shown, by values all over it."""
    if values.size < _FEWEST_RESULTS or range_mode == "rescale":
        return Clipped()
    step = max(1, int(np.ceil(np.sqrt(values.size / _MOST_CELLS))))
    rows, columns = values.shape[:2]
    seen = values[step // 2 % rows :: step, step // 2 % columns :: step]
    return _outside(seen, white, range_mode)


def _outside(values: np.ndarray, white: float, range_mode: str) -> Clipped:
    if range_mode == "absolute":
        values = np.abs(values)
    elif range_mode == "offset":
        values = values + np.float32((white + 1) // 2 if white > 1 else 0.5)
    # Those that are rounded to an end of the range, or on the screen where white is 1, are not clipped.
    most = min(0.5, white / 510)
    below, above = float((values < -most).mean()), float((values > white + most).mean())
    return Clipped(below, above, range_mode=range_mode)
