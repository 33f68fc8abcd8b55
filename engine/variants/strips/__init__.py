"""Strips of columns that a warp streams down: their shape, loading, which cells each thread loads."""
