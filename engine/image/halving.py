"""Half of a picture, and the sizes of its levels, each half of the one before. No Numba in here."""

import numpy as np


def halved(pixels: np.ndarray) -> np.ndarray:
    """Return half of a picture: means of two by two, rounded; an odd edge is its own neighbour."""
    height, width = pixels.shape[:2]
    if height % 2 or width % 2:
        pixels = np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    if pixels.dtype.kind == "f":
        rows = pixels[0::2] + pixels[1::2]
        means: np.ndarray = (rows[:, 0::2] + rows[:, 1::2]) * np.float32(0.25)
        return means
    rows = np.add(pixels[0::2], pixels[1::2], dtype=np.uint32 if pixels.itemsize > 1 else np.uint16)
    total: np.ndarray = rows[:, 0::2] + rows[:, 1::2]
    total += 2
    total >>= 2
    return total.astype(pixels.dtype, copy=False)


def halved_sides(height: int, width: int, most: tuple[float, float]) -> tuple[tuple[int, int], ...]:
    """Return rows and columns of a picture's levels, rounded up, until both are at most so many."""
    levels = [(height, width)]
    while levels[-1][0] > most[0] or levels[-1][1] > most[1]:
        levels.append((-(-levels[-1][0] // 2), -(-levels[-1][1] // 2)))
    return tuple(levels)
