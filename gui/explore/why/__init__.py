"""The panel Why: the reason for the time of the selected run."""
