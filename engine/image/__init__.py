"""Pictures: opening, saving, colour and depth, samples.

- `picture`: `Picture`, an image with what belongs to it (alpha, colour profile, where it came from)
- `open`: `open_image`, and the pictures that come with the program; `save`: `save_image`
- `formats`: the formats behind them
- `convert`: what people pass as an array; how a float result becomes 8 or 16 bit

Importing any of these costs little: the libraries that decode are imported when a file needs them.
"""
