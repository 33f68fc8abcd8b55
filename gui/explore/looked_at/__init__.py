"""Which kernel with which block the panels Tile, Launch, Code and Ablation explain."""
