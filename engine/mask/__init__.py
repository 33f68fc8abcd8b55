"""Masks: the weights that a filter multiplies with the pixels around a pixel.

`mask` holds the value `Mask` itself (NumPy only, cheap to import); `text` and `json_form` read and
write it, also in files; `presets` and `generators` know ready ones and the value of `--mask`;
`analysis` finds facts about a mask. Nothing is re-exported here, so that one part can be imported without the
others. No Numba and no Qt in here.
"""
