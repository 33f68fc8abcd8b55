"""Rows and columns in one kernel: masks of equal weights, products of a column and a row, sums of those."""
