"""What plots share. Only plots import pyqtgraph, which takes 0.15 s: on a thread, after the first result."""
