"""Products of matrices, C = A B in float32: problem, float64 oracle, agreement, model of work."""
