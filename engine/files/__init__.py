"""Writing files whole, looking at a place before the work, and standard streams that somebody closed."""
