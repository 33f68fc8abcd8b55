"""What a kernel asks of memory, counted from its own source."""
