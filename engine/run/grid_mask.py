"""A mask of a sweep: one that was named, or random weights of a size."""

from dataclasses import dataclass

import numpy as np

from engine.mask.mask import Mask


@dataclass(frozen=True, slots=True)
class GridMask:
    """A mask of a benchmark.

    Parameters
    ----------
    rows, columns : int
    named : Mask, optional
        The mask that was asked for by name, called as it was written; None: random weights of that size.
    """

    rows: int
    columns: int
    named: Mask | None = None

    def weights(self, seed: int) -> Mask:
        """Return the mask; random weights are none of them special: no zeros, no symmetry, not separable."""
        if self.named is not None:
            return self.named
        random = np.random.default_rng(seed).uniform(0.5, 1.5, (self.rows, self.columns))
        return Mask(random / (self.rows * self.columns), name=_random_name(self.rows, self.columns))


def _random_name(rows: int, columns: int) -> str:
    return f"random {rows} x {columns}"
