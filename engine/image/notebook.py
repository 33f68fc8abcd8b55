"""The PNG of a picture that a notebook shows: what the window shows, at most `MOST_SIDE` pixels on a side."""

import numpy as np

from engine.image.convert import change_alpha_depth, change_depth, halved
from engine.image.formats.png import png_bytes

MOST_SIDE = 1024
# Rows of the shown picture that are made at once: of a large picture no second one is made.
_BAND_ROWS = 32


def png_to_show(pixels: np.ndarray, alpha: np.ndarray | None) -> bytes:
    """Return a PNG of 8 bits, halved until it is small enough; 1.0 is white, and values outside are clipped.

    The halves are those of the window (`engine.host.display_levels`), in which clear pixels do not count.
    """
    halvings = ((max(pixels.shape[:2]) - 1) // MOST_SIDE).bit_length()
    step = _BAND_ROWS << halvings
    shown = []
    for top in range(0, len(pixels), step):
        rows = slice(top, top + step)
        shown.append(_shown(pixels[rows], None if alpha is None else alpha[rows], halvings))
    return bytes(png_bytes(np.concatenate(shown)))


def _shown(pixels: np.ndarray, alpha: np.ndarray | None, halvings: int) -> np.ndarray:
    colours = change_depth(pixels.reshape(*pixels.shape[:2], -1), np.uint8)
    if alpha is None:
        return _reduced(colours, halvings)
    opacity = change_alpha_depth(alpha, np.uint8)[..., np.newaxis]
    if halvings:
        # Weighted by the opacity, while they are halved.
        colours = _reduced(np.rint(colours * (opacity / 255.0)).astype(np.uint8), halvings)
        opacity = _reduced(opacity, halvings)
        straight = np.rint(colours * (255.0 / np.maximum(opacity, 1)))
        colours = np.minimum(straight, 255).astype(np.uint8)
    return np.concatenate([colours, opacity], axis=2)


def _reduced(samples: np.ndarray, halvings: int) -> np.ndarray:
    for _ in range(halvings):
        samples = halved(samples)
    return samples
