"""The panel History: the edits of the page as a list."""
