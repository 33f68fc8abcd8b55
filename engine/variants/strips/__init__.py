"""Strips of columns that a warp streams down: loading, accumulating and storing."""
