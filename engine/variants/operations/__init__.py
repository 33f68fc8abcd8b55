"""Ways to compute operations on pictures, one per file: docstring, pure functions, kernel, last `VARIANT`."""
