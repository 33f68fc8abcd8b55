"""Ways to multiply matrices, one per file: docstring, pure functions, kernel factory, and last `VARIANT`."""
