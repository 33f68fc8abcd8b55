"""What the mask and its result are: analysis, lens, histogram, line profile."""
