"""The pages that the bar on the left switches: one file and one line in `PAGES` each."""
