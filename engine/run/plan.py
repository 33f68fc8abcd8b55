"""How long to warm up and to sample."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """Warm-up and samples of one run.

    Parameters
    ----------
    warm_up_s : float
        Launch for at least this long before anything counts (clocks rise, caches fill), seconds.
    budget_s : float
        Sample for about this long, seconds.
    fewest, most : int
        Samples to take whatever the budget says, and never more than.
    fewest_copies : int
        Samples of the copies and of end to end.
    patience_s : float
        Stop with fewer samples, but never without one, when they have taken this long, seconds: the plain loops need
        minutes for a large mask on a large picture.
    """

    warm_up_s: float = 0.05
    budget_s: float = 0.5
    fewest: int = 5
    most: int = 200
    fewest_copies: int = 5
    patience_s: float = 10.0


NO_SAMPLES = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=1, most=1, fewest_copies=1)
