"""`box`: running window sums for masks whose weights are all equal."""
