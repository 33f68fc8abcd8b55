"""Block sizes side by side: the list of blocks, the map of a kernel, times over blocks."""
