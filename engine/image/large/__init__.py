"""Pictures that are larger than memory: read and written in parts.

- `source`: `LargePicture`, the levels of a picture and any rectangle of one, from segments or plain rows
- `kinds`, `opening`: which files are read in parts, and `open_large`
- `tiff_reader`, `zarr_reader`, `formats.npy`: the formats, and how each stores a picture (`Storage`)
- `zarr_store`: the files of a Zarr store and what its chunks are packed by, each within bounds
- `making`: results of the same kinds, `tiff_writer`, `zarr_writer`
- `result`: what they have in common: a file that grows, smaller levels, the folder and its journal
"""
