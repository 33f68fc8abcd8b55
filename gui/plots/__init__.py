"""What plots share. pyqtgraph comes from `plot`."""
