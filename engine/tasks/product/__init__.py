"""Products of matrices, P = M N in float32: problem, float64 oracle, agreement, model of work."""
