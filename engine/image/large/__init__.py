"""Pictures that are larger than memory: read and written in parts.

- `source`: `LargePicture`, the levels of a picture and any rectangle of one
- `kinds`, `opening`: which files are read in parts, and `open_large`
- `segments`: strips, tiles and chunks, decoded by threads; `plain_rows`: rows without compression
- `tiff_reader`, `zarr_reader`, `formats.npy`: the formats; `storage`: how each stores a picture
- `zarr_store`, `zarr_codecs`: the files of a Zarr store and what its chunks are packed by, each within bounds
- `making`: results of the same kinds, `tiff_writer`, `zarr_writer`; `pyramid`: their levels
- `checked_file`: a file that grows, with its length and checksum
- `part_folder`: the folder in which a result grows, and its journal
"""
