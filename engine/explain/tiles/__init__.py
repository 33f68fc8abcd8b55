"""Who loads what in a block of a kernel, seen in its run."""
