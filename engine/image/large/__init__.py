"""Pictures that are larger than memory: read and written in parts.

- `source`: `LargePicture`, the levels of a picture and any rectangle of one, from segments or plain rows
- `opening`: which files are read in parts, `open_large`, and results of the same kinds
- `zarr`, `formats.tiff`, `formats.npy`: the formats, and how each stores a picture (`Storage`)
- `zarr_store`: the files of a Zarr store and what its chunks are packed by, each within bounds
- `result`: what they have in common: a file that grows, smaller levels, the folder and its journal
"""
