"""What a run leaves behind: the measurement, its metrics, the files that it is written to and read from."""
