"""Comparing a result with the float64 oracle: rounding bounds, checked regions, the verdict."""
