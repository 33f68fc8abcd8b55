"""A picture cut into bands, which threads take, one after another, until none is left."""

import numpy as np

# Least rows of the last bands: LEAST_ROWS, and LEAST_OF_COST times what a band costs beside its own rows.
LEAST_ROWS = 16
LEAST_OF_COST = 4
# Rows that are computed at once: all bands but the last of a tile have a multiple of these. With any number,
# `cpu-separable` took 10 % longer for 15 x 15.
WHOLE_ROWS = 8
# Another thread begins 20 to 50 us later; by then a core has made some 2 million multiply-adds.
LEAST_MULTIPLY_ADDS = 2_000_000


def workers_for(multiply_adds: int, most: int) -> int:
    """Return how many threads so much work is worth, at most `most`."""
    return max(1, min(most, multiply_adds // LEAST_MULTIPLY_ADDS))


def cut(height: int, tiles: int, workers: int, cost_rows: float) -> np.ndarray:
    """Cut a picture of `height` rows and `tiles` tiles across into bands that get smaller, tile after tile.

    First come bands of half of each worker's share, then of half of the rest, and so on: equally fast cores
    get equal shares, and a slow one leaves its later bands to the others. So a launch waits for little more
    than one of the last bands, however much slower one core is.

    Parameters
    ----------
    height, tiles, workers : int
    cost_rows : float
        What a band costs beside its own rows, in rows of a tile: input rows that it shares with other bands.

    Returns
    -------
    ndarray of shape (bands, 3), int64
        First and past-the-last row, tile.
    """
    if workers == 1:
        sizes = np.full(tiles, height)
    else:
        share = max(LEAST_ROWS, -(-height * tiles // workers))
        least = max(LEAST_ROWS, LEAST_OF_COST * cost_rows)
        rows = [share]
        while rows[-1] >= 2 * least:
            half = -(-rows[-1] // 2 // WHOLE_ROWS) * WHOLE_ROWS
            rows[-1:] = [half, rows[-1] - half]
        sizes = np.repeat(rows, workers)
    # All tiles one below the other. Each tile's end is a cut, and cuts close to it move there.
    cuts = np.minimum(np.cumsum(sizes), height * tiles)
    row = cuts % height
    row = np.where(row + LEAST_ROWS // 2 > height, height, -(-row // WHOLE_ROWS) * WHOLE_ROWS)
    row = np.where(row < LEAST_ROWS // 2, 0, np.minimum(row, height))
    ends = np.union1d(cuts // height * height + row, height * np.arange(1, tiles + 1))
    ends = ends[ends > 0]
    starts = np.concatenate([[0], ends[:-1]])
    tile = starts // height
    return np.stack([starts - tile * height, ends - tile * height, tile], 1).astype(np.int64)
