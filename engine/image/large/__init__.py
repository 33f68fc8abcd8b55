"""Pictures that are larger than memory, read and written in parts: `opening` has the calls.

`source` and `result` are what all formats have in common, which are `zarr`, `formats.tiff` and `formats.npy`.
"""
