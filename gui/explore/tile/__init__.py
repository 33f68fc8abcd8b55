"""The panel Tile: who loads what in one block, and which cells a result uses."""
