"""Numbers about results: how far from the oracle, how fast, how much moved. Pure functions."""
