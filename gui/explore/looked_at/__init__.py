"""Which kernel with which block the panels Tile, Launch and Ablation explain."""
