"""Small widgets and formats that every page uses. pyqtgraph comes from `plot`."""
