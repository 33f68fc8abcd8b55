"""Explain: what is asked of the selected kernel or run, and the panels that answer."""
