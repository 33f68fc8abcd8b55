"""Pictures that are larger than memory: read and written in parts.

- `source`: `LargePicture`, the levels of a picture and any rectangle of one
- `opening`: `open_large`, and which files are read in parts
- `segments`: strips, tiles and chunks, decoded by threads; `plain_rows`: rows without compression
- `tiff_reader`, `zarr_reader`, `npy_reader`: the formats
"""
