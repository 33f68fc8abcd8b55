"""The teaching kernels in plain Numba: one file each, readable alone from top to bottom."""
