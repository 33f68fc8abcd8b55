"""The parts of the page Course."""
