"""Borders, layouts of rows, and blocks of threads: pure index arithmetic and rules."""
