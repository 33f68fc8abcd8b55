"""Small widgets and formats that every page uses."""
