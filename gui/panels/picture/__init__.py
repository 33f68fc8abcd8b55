"""The parts of the picture view: where the picture lies, how it is painted, what the cursor reads."""
