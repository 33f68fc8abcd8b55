"""Results of runs: the measurement, its metrics, comparison, and the files of results."""
