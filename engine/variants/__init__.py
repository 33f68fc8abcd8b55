"""The variants: the ways to compute one filtering, by families.

A file holds one variant, or a few of one idea, readable alone from top to bottom; variants never import one
another. `mask_classes.py` and `passes.py` have what several families share, `emit/` how code is emitted.
"""
