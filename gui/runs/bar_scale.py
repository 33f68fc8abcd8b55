"""Where a value stands on the axis of bars: linear from 0, or by its logarithm where values lie far apart."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

# From this ratio of the largest to the smallest on, short bars could not be told apart on a linear axis.
_LOG_FROM = 30.0
# The shortest bar has this share of the width on a logarithmic axis.
_SHORTEST = 0.06
_LINEAR_TICKS = 4


@dataclass(frozen=True, slots=True)
class BarScale:
    """From `low` on the left to `high`, the largest value, at the right end."""

    low: float = 0.0
    high: float = 1.0
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return where a value stands, 0 to 1."""
        if self.is_log:
            # 0 ms from a coarse clock stands at the left end.
            value = max(value, self.low)
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Every decade, or round values where there are fewer than two."""
        if self.is_log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return tuple(10.0**decade for decade in range(first, last + 1))
        step = _round_step((self.high - self.low) / _LINEAR_TICKS)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(step * at for at in range(first, last + 1))


def scale_of(values: Iterable[float]) -> BarScale:
    """Return the scale that ends at the largest of the values."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    positive = [value for value in finite if value > 0]
    if low >= 0 and positive and high / min(positive) >= _LOG_FROM:
        smallest = min(positive)
        span = math.log(high / smallest)
        return BarScale(smallest / math.exp(span * _SHORTEST / (1 - _SHORTEST)), high, True)
    low, high = min(0.0, low), max(0.0, high)
    return BarScale(low, high if high > low else low + 1.0)


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20 … that is at least so large."""
    decade = 10.0 ** math.floor(math.log10(least))
    return next(factor * decade for factor in (1, 2, 5, 10) if factor * decade >= least * (1 - 1e-9))
