"""The parts of the mask panel: the table of cells, its size, presets, border and scale."""
