"""`low-rank-3`: the mask as a sum of three columns times rows, all applied in one kernel.

As `low-rank-2`, with one product more (the sum of a Gaussian and a Laplacian of a Gaussian, for one): 3 (rows
+ columns) multiply-adds per result. Below 8 x 8 these would be more than three quarters of a direct sum's,
and it refuses.
"""

from engine.variants.fused.low_rank_sum import low_rank_variant

VARIANT = low_rank_variant(3)
