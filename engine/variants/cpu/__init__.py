"""CPU variants, one a file; what is compiled of each is in a module of its own, ending in `_code`."""
