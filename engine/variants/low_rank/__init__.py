"""`low-rank-2`, `low-rank-3`: a mask as a sum of two or three separable ones."""
