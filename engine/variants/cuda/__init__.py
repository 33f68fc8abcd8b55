"""CUDA variants, one a file: docstring, geometry, pure functions, kernel factory, and last `VARIANT`."""
