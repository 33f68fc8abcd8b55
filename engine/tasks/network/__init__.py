"""A network's forward pass on handwritten digits, float32: problem, weights, float64 oracle, bound, work."""
