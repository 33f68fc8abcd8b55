"""Pictures that are larger than memory: read and written in parts.

- `source`: `LargePicture`, the levels of a picture and any rectangle of one
"""
