"""What plots share. Only `library` imports pyqtgraph."""
