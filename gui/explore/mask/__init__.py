"""The mask panel: the grid of weights, size, presets, border and anchor, text."""
