"""The page Matrices: products of matrices; page, state and controller."""
