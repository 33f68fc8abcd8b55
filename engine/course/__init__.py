"""The course papers: their kernels as they are found here, and their tables for this machine."""
