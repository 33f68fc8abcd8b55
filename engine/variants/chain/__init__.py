"""Ways to compute chains: each step by a variant of its own, and what lies between on the same device."""
