"""Who loads what: the input tile of one block of threads, cell by cell. Pure integers, no Numba.

A variant says it by `Variant.tiles`, from the same geometry as its kernel; the window draws it, and a test
runs the kernel's own source thread by thread and compares.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.geometry.block import Block
from engine.geometry.border import Border

DIRECT = -1
"""In place of a thread: the cell is not kept in shared memory; each result reads it from global memory."""

UNUSED = -2
"""In place of a thread: no thread loads the cell, because no result reads it."""

Cells = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TilePlan:
    """What one block of a pass loads, and which results it computes.

    The arrays of cells have the shape of the tile: rows x columns of what lies in shared memory, and what is
    read around it. Columns are pixels, or samples where a block has all channels of a pixel side by side.
    """

    height: int  # of the picture
    width: int  # of the picture, in columns as above
    border: Border
    block: Block  # of threads
    at: tuple[int, int]  # the block's place in the grid: across, down
    # Where each cell comes from, before the border's rule: outside the picture lies a ghost cell.
    source_rows: Cells
    source_columns: Cells
    loaders: Cells  # the thread that puts the cell into shared memory: x + block.x * y; DIRECT; UNUSED
    steps: Cells  # in which of a thread's loads, counted from 1; 0 where there is no thread
    # The results of the block, and the thread that computes each.
    result_rows: Cells
    result_columns: Cells
    computers: Cells
    # The cells under the mask of result (i, j): rows i x stride[0] + at[0] of the tile and columns
    # j x stride[1] + at[1], each so many, `apart` columns from one another.
    window_shape: tuple[int, int]
    window_at: tuple[int, int] = (0, 0)
    window_stride: tuple[int, int] = (1, 1)
    apart: int = 1  # samples of a pixel, where these are columns
    step_names: tuple[str, ...] = ()  # of the steps, where they have names
    reads: str = "N"  # what the pass reads and writes: N and P in the lecture, S is between two passes
    writes: str = "P"
    title: str = ""  # of the pass, where there are two
    note: str = ""  # what the drawing leaves out
    cut_rows: int = 0  # rows that follow below, not drawn

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tile."""
        rows, columns = self.loaders.shape
        return rows, columns

    @property
    def ghosts(self) -> NDArray[np.bool_]:
        """Which cells lie outside the picture."""
        rows, columns = self.source_rows, self.source_columns
        return (rows < 0) | (rows >= self.height) | (columns < 0) | (columns >= self.width)

    @property
    def own(self) -> NDArray[np.bool_]:
        """Which cells lie where the block has a result; the others are its halo."""
        if self.result_rows.size == 0:
            return np.zeros(self.shape, bool)
        stride = self.width + self.source_columns.size + 1
        places = self.source_rows.astype(np.int64) * stride + self.source_columns
        results = self.result_rows.astype(np.int64) * stride + self.result_columns
        inside = ~self.ghosts
        return np.isin(places, results) & inside

    def window(self, i: int, j: int) -> tuple[slice, slice]:
        """Return rows and columns of the tile that are under the mask of result (i, j)."""
        rows, columns = self.window_shape
        top = i * self.window_stride[0] + self.window_at[0]
        left = j * self.window_stride[1] + self.window_at[1]
        return slice(top, top + rows), slice(left, left + (columns - 1) * self.apart + 1, self.apart)

    def source(self, row: int, column: int) -> tuple[int, int] | None:
        """Return the cell of the picture that a cell of the tile has by the border's rule; None: a value."""
        rule, per_pixel = self.border.rule, self.apart
        pixel, channel = divmod(int(self.source_columns[row, column]), per_pixel)
        own_row = rule(int(self.source_rows[row, column]), self.height)
        own_pixel = rule(pixel, self.width // per_pixel)
        return None if own_row < 0 or own_pixel < 0 else (own_row, own_pixel * per_pixel + channel)

    def result_at(self, row: int, column: int) -> tuple[int, int] | None:
        """Return the result (i, j) at a cell of the tile, or of its column; None on the halo."""
        if self.window_stride[0] == 0:
            return 0, column
        found = np.argwhere(
            (self.result_rows == self.source_rows[row, column])
            & (self.result_columns == self.source_columns[row, column])
        )
        if not len(found):
            return None
        i, j = found[0].tolist()
        return i, j


def grid_of_cells(top: int, left: int, rows: int, columns: int) -> tuple[Cells, Cells]:
    """Return row and column of each cell of a rectangle whose first cell is (top, left)."""
    down, across = np.indices((max(rows, 0), max(columns, 0)), dtype=np.int32)
    return down + np.int32(top), across + np.int32(left)
