"""The CPU's threads: a pool that sleeps in compiled code, and calls that several of them make at once."""
