"""From the samples of a TIFF to grey or RGB, in one of our dtypes, with straight alpha."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.image.array_types import converted, sample_type, scaled
from engine.image.colour import cmyk_to_rgb, unpremultiplied, ycbcr_to_rgb
from engine.image.faults import Refused, Unsupported

if TYPE_CHECKING:
    from tifffile import TiffPage

_MIN_IS_WHITE, _MIN_IS_BLACK, _RGB, _PALETTE, _MASK, _SEPARATED, _YCBCR = range(7)
_PREMULTIPLIED, _STRAIGHT = 1, 2

# Photometric interpretation -> samples that carry colour. Others (raw sensor data, LogLuv) are refused.
_COLOUR_SAMPLES = {
    _MIN_IS_WHITE: 1, _MIN_IS_BLACK: 1, _PALETTE: 1, _MASK: 1,
    _RGB: 3, _YCBCR: 3,
    _SEPARATED: 4,
}  # fmt: skip

_RAW = "raw sensor data"
_PHOTOMETRIC_WORDS = {"LOGL": "LogL", "LOGLUV": "LogLuv", "CFA": _RAW, "LINEAR_RAW": _RAW}


def picture_samples(samples: np.ndarray, page: "TiffPage") -> tuple[np.ndarray, list[str]]:
    """Interpret samples of shape (H, W, S) as the tags of their page say.

    Returns the picture's, (H, W, grey or RGB and then alpha) as uint8, uint16 or float32, and notes on what
    was changed. Raises Refused or Unsupported for a colour model or number type without a picture here.
    """
    photometric = int(page.photometric)
    if photometric not in _COLOUR_SAMPLES:
        name = getattr(page.photometric, "name", str(photometric))
        raise Unsupported(f"its pixels are {_PHOTOMETRIC_WORDS.get(name, f'of colour model {name}')}")
    if photometric == _SEPARATED and page.tags.valueof(332, 1) != 1:  # InkSet
        raise Unsupported("its inks are not cyan, magenta, yellow and black")
    colour_count = _COLOUR_SAMPLES[photometric]
    if samples.shape[2] < colour_count:
        raise Refused(f"it has {samples.shape[2]} samples per pixel, its colour model needs {colour_count}")

    notes: list[str] = []
    stored, extra = samples[..., :colour_count], samples[..., colour_count:]
    alpha, premultiplied = _alpha(extra, page, notes)
    if alpha is not None:
        alpha = _our_dtype(alpha, page, [])
    if photometric == _PALETTE:
        colours: np.ndarray = _looked_up(stored[..., 0], page)
        alpha = None if alpha is None else alpha.astype(np.uint8)
    else:
        colours = _our_dtype(stored, page, notes)
        if premultiplied and alpha is not None:
            colours = unpremultiplied(colours, alpha)
        if photometric == _MIN_IS_WHITE:
            colours = _inverted(colours, notes)
        elif photometric == _SEPARATED:
            notes.append("It was converted from CMYK to RGB without its colour profile.")
            colours = cmyk_to_rgb(colours)
        elif photometric == _YCBCR and int(page.compression) not in (6, 7):  # a JPEG decoder converts
            colours = ycbcr_to_rgb(colours)
    return (colours if alpha is None else np.dstack([colours, alpha])), notes


def _alpha(extra: np.ndarray, page: "TiffPage", notes: list[str]) -> tuple[np.ndarray | None, bool]:
    """Alpha samples, and whether the colours are multiplied with them."""
    alpha, premultiplied, unknown = None, False, 0
    kinds = [int(kind) for kind in page.extrasamples]
    for position in range(extra.shape[2]):
        kind = kinds[position] if position < len(kinds) else 0
        if kind in (_PREMULTIPLIED, _STRAIGHT) and alpha is None:
            alpha, premultiplied = extra[..., position], kind == _PREMULTIPLIED
        else:
            unknown += 1
    if unknown:
        notes.append(
            f"{unknown} more {'value' if unknown == 1 else 'values'} per pixel, of unknown meaning, left out."
        )
    return alpha, premultiplied


def _our_dtype(samples: np.ndarray, page: "TiffPage", notes: list[str]) -> np.ndarray:
    """Values as uint8, uint16 or float32; packed depths are scaled to the full range of the next one."""
    bits = int(page.bitspersample)
    if samples.dtype.kind == "u" and bits < 8 * samples.itemsize <= 16:
        notes.append(f"Its {bits}-bit values were scaled to {8 * samples.itemsize} bit.")
        return scaled(samples, 2**bits - 1, samples.dtype)
    dtype, found = sample_type(samples.dtype)
    # A mask of ones and zeros is a picture of two greys.
    notes += found if samples.dtype != np.bool_ else ()
    return converted(samples, dtype)


def _inverted(pixels: np.ndarray, notes: list[str]) -> np.ndarray:
    if pixels.dtype == np.float32:
        # Float values have no full scale to turn about.
        notes.append("Its values count darkness (white is the smallest); they were kept as they are.")
        return pixels
    return np.iinfo(pixels.dtype).max - pixels


def _looked_up(indices: np.ndarray, page: "TiffPage") -> NDArray[np.uint8]:
    colormap = page.colormap
    if colormap is None or indices.dtype.kind not in "bu":
        raise Refused("it has a palette picture without its palette")
    if int(indices.max()) >= colormap.shape[1]:
        raise Refused(f"it names colour {int(indices.max())} of a palette of {colormap.shape[1]}")
    # The palette has 16 bits per value; writers fill them from 8 as v x 256 or v x 257, and some forget to.
    palette = colormap if colormap.max() < 256 else colormap >> 8
    return palette.astype(np.uint8).T[indices.astype(np.intp)]


def is_as_stored(page: "TiffPage") -> bool:
    """Return whether the samples of a page are its pixels."""
    probe = np.arange(1, 1 + page.samplesperpixel, dtype=page.dtype).reshape(1, 1, -1)
    found, _ = picture_samples(probe, page)
    is_premultiplied = _PREMULTIPLIED in [int(kind) for kind in page.extrasamples]
    return found.dtype == probe.dtype and np.array_equal(found, probe) and not is_premultiplied
