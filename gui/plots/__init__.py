"""What plots share. Only plots import pyqtgraph, which takes 0.15 s: a thread does, after the first result."""
