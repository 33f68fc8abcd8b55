"""Ways to multiply matrices, one a file: docstring, pure functions, kernel factory, and last `VARIANT`.

Their explicit tuple is `engine.variants.matmul.registry.MATMUL_VARIANTS`; they are no filters and not among those.
"""
