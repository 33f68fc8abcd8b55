"""Panels of the page Matrices: the product, the results, and what the lecture says."""
