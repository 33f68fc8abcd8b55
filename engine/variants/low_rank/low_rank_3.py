"""`low-rank-3`: the mask as a sum of three columns times rows, all applied in one kernel.

Idea
    As `low-rank-2`, with one product more: the sum of a Gaussian and a Laplacian of a Gaussian, for one.
Who loads what
    As `low-rank-2`; a row is filtered three times, and added to each result three times.
What it saves
    3 (rows + columns) multiply-adds a result instead of rows x columns.
Limit
    As that of `low-rank-2`. Below 8 x 8 it would take no fewer multiply-adds than three quarters of a direct sum's, and
    refuses.

Source: as `low-rank-2`.
"""

from engine.variants.low_rank.low_rank_sum import low_rank_variant

VARIANT = low_rank_variant(3)
