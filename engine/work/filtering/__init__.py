"""Filtering a picture with a mask: problem, float64 oracle, agreement, model of work."""
