"""Pictures like photographs, the same on every machine: `python -m bench.whole.pictures FILE COLUMNS ROWS`.

Each is made in a separate process, so that the one that measures stays small.
"""

import sys

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SEED = 7
# A photograph has about as much contrast in each octave of sizes, a little less in the finer ones; grain on
# top. At quality 92 that makes 12 megapixels 2.5 MB.
COARSEST, FINEST, CONTRAST, FADING, GRAIN = 512, 2, 32.0, 0.75, 2.0


def photograph(columns: int, rows: int) -> NDArray[np.uint8]:
    """Return RGB of shape (rows, columns, 3): shapes of all sizes, colours that vary slowly, and grain."""
    generator = np.random.default_rng(SEED)
    light = np.zeros((rows, columns), np.float32)
    cell, amplitude = COARSEST, CONTRAST
    while cell >= FINEST:
        light += amplitude * _noise(generator, columns, rows, cell)
        cell, amplitude = cell // 2, amplitude * FADING
    # The edge of something dark in front, which smooth noise lacks.
    light -= np.float32(60) * (_noise(generator, columns, rows, COARSEST // 4) > np.float32(0.6))
    image = np.empty((rows, columns, 3), np.uint8)
    for channel in range(3):
        tint = 25 * _noise(generator, columns, rows, COARSEST // 2)
        grain = generator.normal(0, GRAIN, light.shape).astype(np.float32)
        image[..., channel] = np.clip(120 + light + tint + grain, 0, 255)
    return image


def _noise(generator: np.random.Generator, columns: int, rows: int, cell: int) -> NDArray[np.float32]:
    """Return smooth noise with features of about `cell` pixels."""
    points = generator.normal(0, 1, (rows // cell + 2, columns // cell + 2)).astype(np.float32)
    return np.asarray(Image.fromarray(points).resize((columns, rows), Image.Resampling.BICUBIC))


def save(path: str, columns: int, rows: int) -> None:
    """Save one with Pillow: a JPEG with colours of half the resolution, as cameras write it, or a PNG."""
    how = {"quality": 92, "subsampling": "4:2:0"} if path.endswith(".jpg") else {}
    Image.fromarray(photograph(columns, rows)).save(path, **how)


if __name__ == "__main__":
    save(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
