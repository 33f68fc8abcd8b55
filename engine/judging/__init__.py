"""Judges a CUDA kernel that somebody wrote, without a GPU: right, wrong, faulty or refused, with lines."""
