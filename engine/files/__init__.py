"""Writing files whole, checking output paths before the work, and closed standard streams."""
