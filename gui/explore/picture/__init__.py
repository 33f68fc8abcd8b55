"""The picture view: canvas, zoom, split, pixel values, levels."""
