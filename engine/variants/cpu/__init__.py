"""CPU variants, one a file; what is compiled of each is in it, and what it is written with imported late."""
