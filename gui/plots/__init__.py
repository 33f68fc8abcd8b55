"""Plots of the results, one a file. Only here pyqtgraph is imported, after the first paint."""
