"""`digit-sums`: 8-bit pictures on tensor cores, weights as 8-bit slices."""
