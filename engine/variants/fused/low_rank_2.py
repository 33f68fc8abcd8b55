"""`low-rank-2`: the mask as a sum of two columns times rows, both applied in one kernel.

Idea
    A mask that is not a product may be the sum of two: a difference of Gaussians, the Laplacian of a
    Gaussian. The singular value decomposition finds them.
Who loads what
    As in `separable-fused`, with a ring: each input row is filtered twice, into two filtered rows side by
    side, and each of them is filtered down into the same results.
What it saves
    2 (rows + columns) multiply-adds per result instead of rows x columns.
Limit
    More is rounded off than by a direct sum where the products are larger than the mask that they add up to;
    the bound is in `low_rank_sum.py`, and every result is held to it.

Source: S. Treitel and J. L. Shanks, "The design of multistage separable planar filters", IEEE Transactions on
Geoscience Electronics 9 (1971).
"""

from engine.variants.fused.low_rank_sum import low_rank_variant

VARIANT = low_rank_variant(2)
