"""Ways to multiply matrices, one a file: docstring, pure functions, kernel factory, and last `VARIANT`."""
