"""The course papers: which kernel of theirs is which here, and their tables for this machine."""
