"""Reading text and JSON, writing files whole, checking output paths before the work, standard streams."""
