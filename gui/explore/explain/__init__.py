"""Explain: questions about the selected kernel or run, and the panels that answer."""
