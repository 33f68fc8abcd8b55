"""The variants: the ways to compute one filtering, a file each, in the order of `registry.VARIANTS`.

`contract.py` says what a variant is; `cpu/` and `cuda/` hold one variant a file, readable alone from top to
bottom; variants never import one another.
"""
