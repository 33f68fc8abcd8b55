"""Haloscope's engine."""
