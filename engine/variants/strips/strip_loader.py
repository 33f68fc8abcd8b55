"""Rows of a warp's strip, loaded by vectors.

As `engine/variants/register_blocked/tile_loader.py`, for one warp that comes back for more rows of the same
columns again and again: which samples the cells outside the picture stand for is found out once.
"""

from functools import partial
from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.picture_window import PictureWindow, Rule
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.register_blocked.tile_loader import Piece, copy_pieces
from engine.variants.strips.strip_copies import StripRows, beside, cells_beside, edges_of, shares_out
from engine.variants.strips.strip_shape import LANES

Values = list[Any]


def vectors_of(shape: TileShape) -> int:
    """Return the vectors of a row that a lane copies at most: lane, lane + 32 ..."""
    return -(-shape.tile_samples // (VECTOR * LANES))


def by_rule(code: Any, rule: Rule, index: Any, length: Any) -> Any:
    """Return what the border's rule says of an index, 32 bits wide; asked only of one outside."""
    is_outside = index | (length - 1 - index) < 0
    return code.when(is_outside, lambda: code.by_rule(rule, index, length), index)


def strip_columns(shape: TileShape, rule: Rule) -> Any:
    """Return the function `columns(samples, lane, left)` -> the sample of each cell of a lane's vectors.

    `left` is the strip's first cell, before or in the picture, `samples` those of a row of the picture; -1 is
    a ghost cell. Those of the lane's cells beside the picture (`cells_beside`) come after them, where these
    are shared out.
    """
    count, extra = VECTOR * vectors_of(shape), 2 * shares_out(shape)

    def columns(code, samples, lane, left):
        samples, lane, left = (code.narrow(value) for value in (samples, lane, left))
        channels = shape.channels
        width, own = samples // channels, lane * VECTOR
        cells = [own + (place // VECTOR * LANES * VECTOR + place % VECTOR) for place in range(count)]
        if extra:
            cells += cells_beside(shape, lane, edges_of(code, shape, samples, left))
        # So many pixels further on, what is divided is not negative; of what lies before the strip nothing is
        # used.
        further = shape.before + beside(shape)
        found = []
        for place in cells:
            pixel, channel = divmod(left + place + further * channels, channels)
            column = by_rule(code, rule, pixel - further, width)
            found.append(code.select(column < 0, -1, column * channels + channel))
        return found

    return device_function(types.UniTuple(types.int32, count + extra), columns)


class StripFill(StripRows):
    """Fills rows of a strip.

    Rows that lie in the picture, with all their cells, are copied by vectors, all under way at once. Of
    float32 so are the vectors in the picture of rows that lie across its left or right edge; the warp shares
    out their other cells. Of all others each vector that lies in the picture is copied as one; the cells of
    the others go one by one.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.target = self.strip + self.own

    def fill(self) -> None:
        """Do all of it."""
        code, window = self.code, self.window
        is_aligned = window.is_aligned(VECTOR)
        if self.itemsize == 4 and shares_out(self.shape):
            self._shared_copies(is_aligned)
        else:
            is_inside = window.is_inside(self.rows, self.shape.tile_samples)
            is_whole = code.all_of(is_aligned, is_inside)
            code.when(is_whole, self._inside, lambda: self._rows_anywhere(is_aligned))
        if self.itemsize == 4:
            code.close_group()

    def _shared_copies(self, is_aligned: Any) -> None:
        """Copy float32 without waiting.

        All strips run at once, so those at an edge hold up all others: `split-float16`, 9 x 9 on 4096 x 4096,
        took 25 us more with their cells one by one (H200).
        """
        code, window, shape = self.code, self.window, self.shape
        first, end = edges_of(code, shape, window.samples, window.left)
        is_any = first < end
        is_inside = code.all_of(is_aligned, window.is_inside(self.rows, shape.tile_samples))

        def at_side() -> None:
            self.copy_vectors((first, end))
            self.copy_beside(first, end)

        def outside() -> None:
            across = code.all_of(is_aligned, window.has_rows(self.rows), is_any)
            code.when(across, at_side, lambda: self._rows_anywhere(is_aligned))

        code.when(is_inside, self.copy_vectors, outside)

    def _is_own(self, number: int) -> Any:
        """Return whether the lane has such a vector in a row; None: all lanes do."""
        vectors = self.shape.tile_samples // VECTOR - LANES * number
        return None if vectors >= LANES else self.code.is_below(self.lane, vectors)

    def _inside(self) -> None:
        pointer = self.window.row(self.window.top) + (self.window.left + self.own)
        jump = self.code.unsigned(self.window.pitch)
        pieces = []
        for row in range(self.rows):
            for number in range(vectors_of(self.shape)):
                apart = LANES * VECTOR * number
                at = row * self.shape.tile_samples + apart
                pieces.append(Piece(self.target, pointer, self._is_own(number), at, apart))
            pointer += jump
        copy_pieces(self.code, pieces, self.itemsize)

    def _rows_anywhere(self, is_aligned: Any) -> None:
        """Copy in a loop that stays one: few strips touch an edge, and all would pay with registers."""
        code, window = self.code, self.window
        for row in code.loop(0, self.rows):
            source_row = by_rule(code, self.rule, window.top + row, window.height)
            target = self.target + row * self.shape.tile_samples
            for vector in range(vectors_of(self.shape)):
                for _ in code.where(self._is_own(vector)):
                    self._vector_anywhere(vector, source_row, target, is_aligned)

    def _vector_anywhere(self, vector: int, source_row: Any, target: Any, is_aligned: Any) -> None:
        """Copy a lane's vector; cells at an edge one after the other, which takes fewer registers."""
        code, window, at = self.code, self.window, LANES * VECTOR * vector
        target = target + at
        first = window.left + self.own + at
        samples = self.columns[VECTOR * vector : VECTOR * (vector + 1)]
        signs = first | (window.samples - (first + VECTOR))
        if window.has_ghosts:
            signs = signs | source_row
        is_whole = code.all_of(is_aligned, signs >= 0)
        source = window.row(source_row)
        if self.itemsize < 4 and not window.has_ghosts:
            self._integers_anywhere(target, source, first, is_whole, samples)
            return

        def whole() -> None:
            copy_pieces(code, [Piece(target, source + first)], self.itemsize)

        def cells() -> None:
            if window.has_ghosts:
                self._cells_or_ghosts(target, source_row, source, samples)
                return
            for k, sample in enumerate(samples):
                code.copy_ahead(target + k, source + sample, 1)

        code.when(is_whole, whole, cells)

    def _cells_or_ghosts(self, target: Any, source_row: Any, source: Any, samples: Values) -> None:
        code = self.code
        is_row = source_row >= 0

        def copied(k: int) -> None:
            cell, place = source + samples[k], target + k
            if self.itemsize == 4:
                code.copy_ahead(place, cell, 1)
            else:
                place.store(code.float32(cell.load()))

        def ghost(k: int) -> None:
            (target + k).store(self.ghost_value)

        for k, sample in enumerate(samples):
            code.when(code.all_of(is_row, sample >= 0), partial(copied, k), partial(ghost, k))

    def _integers_anywhere(
        self, target: Any, source: Any, first: Any, is_whole: Any, samples: Values
    ) -> None:
        """Load a vector, or its cells, and store it: with one way to the store several rows are under way.

        Where there are ghost cells this took longer (9 x 9 on 8-bit RGB 244 instead of 227 us), without 216
        instead of 275.
        """
        values = self.code.when(
            is_whole,
            lambda: (source + first).load(VECTOR),
            lambda: [(source + sample).load() for sample in samples],
        )
        target.store([self.code.float32(value) for value in values])


def strip_loader(shape: TileShape, rows: int, itemsize: int, rule: Rule) -> Any:
    """Return the function that fills rows of a strip: that of `tile_loader` for one warp.

    `load(tile, at, image, samples, top, lane, left, columns, ghost_value)`; `columns` is what `strip_columns`
    found for `left`.
    """

    def load(code, tile, at, image, samples, top, lane, left, columns, ghost_value):
        data, window = code.shared(tile), PictureWindow(code, rule, image, samples, top, left)
        strip, lane = data + at, code.narrow(lane)
        StripFill(code, shape, rows, itemsize, rule, strip, window, lane, columns, ghost_value).fill()

    return device_function(types.void, load)
