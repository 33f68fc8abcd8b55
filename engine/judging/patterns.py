"""Where wrong pixels lie, in words: the right edge, the first column of each block, all by one column."""

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
# As much of the wrong pixels as a pattern must have, and as much of the pattern as must be wrong.
MOST = 0.9


def pattern_of(wrong: Flags, found: np.ndarray, wanted: np.ndarray, block_results: tuple[int, int]) -> str:
    """Return where wrong pixels of a picture (H, W) lie; `block_results` are those of a block (x, y)."""
    height, width = wrong.shape
    share = np.count_nonzero(wrong) / wrong.size
    if np.array_equal(found[wrong], np.zeros(np.count_nonzero(wrong))):
        return "the wrong pixels are zero" if share < MOST else "every pixel is zero"
    if (moved := _moved(found, wanted)) is not None:
        return moved
    if share > MOST:
        return "nearly every pixel is wrong"
    rows, columns = np.arange(height)[:, None], np.arange(width)[None, :]
    across, down = block_results
    everywhere = np.ones(wrong.shape, bool)
    places: list[tuple[str, Flags]] = []
    for depth in range(1, 5):
        edge = "" if depth == 1 else f"{depth} "
        places += [
            (
                f"the right edge, {edge}column{'s' * (depth > 1)} wide",
                (columns >= width - depth) & everywhere,
            ),
            (f"the left edge, {edge}column{'s' * (depth > 1)} wide", (columns < depth) & everywhere),
            (f"the bottom edge, {edge}row{'s' * (depth > 1)} high", (rows >= height - depth) & everywhere),
            (f"the top edge, {edge}row{'s' * (depth > 1)} high", (rows < depth) & everywhere),
        ]
    for depth in range(1, 5):
        rim = (columns < depth) | (columns >= width - depth) | (rows < depth) | (rows >= height - depth)
        places.append((f"the rim of the picture, {depth} wide", rim & everywhere))
    for depth in range(1, 5):
        places += [
            (
                f"the first {depth} columns of each block but the first",
                (columns % across < depth) & (columns >= across) & everywhere,
            ),
            (f"the last {depth} columns of each block", (columns % across >= across - depth) & everywhere),
            (
                f"the first {depth} rows of each block but the first",
                (rows % down < depth) & (rows >= down) & everywhere,
            ),
            (f"the last {depth} rows of each block", (rows % down >= down - depth) & everywhere),
        ]
    last_block = (columns >= width // across * across) | (rows >= height // down * down)
    places.append(("the last blocks, which the picture does not fill", last_block & everywhere))
    places.append(("every block but the first", ((columns >= across) | (rows >= down)) & everywhere))
    total = int(np.count_nonzero(wrong))
    for words, place in places:
        inside = int(np.count_nonzero(wrong & place))
        if inside == total and inside >= MOST * max(1, int(np.count_nonzero(place))):
            return words
    for words, place in places:
        if np.count_nonzero(wrong & place) == total:
            return f"some pixels of {words}"
    return f"{total:,} of {wrong.size:,} pixels"


def _moved(found: np.ndarray, wanted: np.ndarray) -> str | None:
    """Return how far the whole result lies beside the right one; None where that is not what is wrong."""
    height, width = wanted.shape
    if min(height, width) < 8:
        return None
    for down in range(-3, 4):
        for right in range(-3, 4):
            if not (down or right):
                continue
            inner = wanted[3 - down : height - 3 - down, 3 - right : width - 3 - right]
            own = found[3 : height - 3, 3 : width - 3]
            if np.allclose(own, inner, rtol=1e-4, atol=1e-2, equal_nan=False):
                ways = _by(right, "column", "right", "left"), _by(down, "row", "down", "up")
                return f"the whole result lies {' and '.join(filter(None, ways))}"
    if height == width and np.allclose(found.T[3:-3, 3:-3], wanted[3:-3, 3:-3], rtol=1e-4, atol=1e-2):
        return "rows and columns of the result are swapped"
    return None


def _by(steps: int, unit: str, ahead: str, back: str) -> str:
    if not steps:
        return ""
    return f"{abs(steps)} {unit}{'s' * (abs(steps) > 1)} too far {ahead if steps > 0 else back}"
