"""Which kernel with which block the panels Tile and Launch explain."""
