"""What a device can do at most: measured once per machine and kept, beside what its driver states."""
