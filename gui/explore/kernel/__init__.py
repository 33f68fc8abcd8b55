"""The kernel panel: variants, block, layout, result type, breakdown of the time."""
