"""The cells under a mask at one pixel, and how its sum is stored."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import Border


class Samples(Protocol):
    """A picture whose values are read as those of an array (H, W, C): by rows and columns."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, columns and channels."""

    def __getitem__(self, place: Any) -> np.ndarray:
        """Return the values at some places."""


class PixelWindow(NamedTuple):
    """The cells under a mask, and where each comes from."""

    cells: NDArray[np.float32]
    """Their values as kernels take them, ghost cells with theirs: (rows, columns, channels)."""
    rows: NDArray[np.int64]
    """The row of the picture that each row of cells lies at; outside it before 0 or past the last."""
    columns: NDArray[np.int64]
    outside: NDArray[np.bool_]
    """Which cells lie outside the picture: (rows, columns)."""
    source_rows: NDArray[np.int64]
    """The row that the border takes in its place; -1 for ghost cells."""
    source_columns: NDArray[np.int64]

    @property
    def ghost_rows(self) -> NDArray[np.bool_]:
        """Which rows have ghost cells only."""
        return self.source_rows < 0


def window_of(
    image: Samples,
    pixel: tuple[int, int],
    mask_shape: tuple[int, int],
    anchor: tuple[int, int],
    border: Border,
    cval: float,
) -> PixelWindow:
    """Return the cells under a mask at a pixel (row, column) of a picture of shape (H, W, C)."""
    sides = list(zip(pixel, anchor, mask_shape, image.shape, strict=False))
    wanted = [np.arange(at - before, at - before + count) for at, before, count, _ in sides]
    down, across = (
        np.array([int(at) if 0 <= at < length else border.rule(int(at), length) for at in places])
        for places, (*_, length) in zip(wanted, sides, strict=True)
    )
    rows, columns = wanted
    beyond_rows = (rows < 0) | (rows >= image.shape[0])
    beyond_columns = (columns < 0) | (columns >= image.shape[1])
    # In the place of ghost cells something is read that is near: what is read may have to be asked for.
    near = [np.where(places < 0, at, places) for places, at in zip((down, across), pixel, strict=True)]
    cells = image[np.ix_(*near)].astype(np.float32)
    ghosts = (down < 0)[:, np.newaxis] | (across < 0)
    cells[ghosts] = np.float32(cval if border.takes_value else 0.0)
    outside = beyond_rows[:, np.newaxis] | beyond_columns
    return PixelWindow(cells, rows, columns, outside, down, across)


def stored(value: NDArray[np.float32], dtype: np.dtype) -> np.ndarray:
    """Return a sum as a kernel stores it: clipped and rounded half to even in 8 and 16 bit; NaN becomes 0."""
    if dtype.kind != "u":
        return value
    held = np.fmin(np.fmax(value, np.float32(0)), np.float32(np.iinfo(dtype).max))
    return np.rint(held).astype(dtype)
