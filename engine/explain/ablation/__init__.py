"""What each part of a kernel costs: the same kernel without that part, made from its own source, timed."""
