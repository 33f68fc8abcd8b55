"""CPU variants, one a file. Every compiled function releases the GIL."""
