"""Rows of a warp's strip, loaded by vectors.

As `engine/variants/register_blocked/tile_loader.py`, for one warp that comes back for more rows of the same columns again
and again: which samples the cells outside the picture stand for is found out once.
"""

from functools import partial
from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.picture_window import PictureWindow, Rule
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.strips.strip_copies import StripCopies, beside, cells_beside, edges_of, shares_out
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
    """Return the function `columns(samples, lane, left)` -> for each cell of a lane's vectors the sample of the row.

    `left` is the strip's first cell, before or in the picture, `samples` those of a row of the picture; -1 is a ghost cell. Those of
    the lane's cells beside the picture (`cells_beside`) come after them, where these are shared out.

    Parameters
    ----------
    shape : TileShape
    rule : callable of (int, int) -> int
        The border's index rule.
    """
    count, extra = VECTOR * vectors_of(shape), 2 * shares_out(shape)

    def columns(code: Any, samples: Any, lane: Any, left: Any) -> Values:
        samples, lane, left = (code.narrow(value) for value in (samples, lane, left))
        channels = shape.channels
        width, own = samples // channels, lane * VECTOR
        cells = [own + (place // VECTOR * LANES * VECTOR + place % VECTOR) for place in range(count)]
        if extra:
            cells += cells_beside(shape, lane, edges_of(code, shape, samples, left))
        # So many pixels further on, what is divided is not negative; of what lies before the strip nothing is used.
        further = shape.before + beside(shape)
        found = []
        for place in cells:
            pixel, channel = divmod(left + place + further * channels, channels)
            column = by_rule(code, rule, pixel - further, width)
            found.append(code.select(column < 0, -1, column * channels + channel))
        return found

    return device_function(types.UniTuple(types.int32, count + extra), columns)


class StripFill:
    """Fills rows of a strip.

    Rows that lie in the picture, with all their cells, are copied by vectors, all under way at once. Of float32 so are the vectors in the
    picture of rows that lie across its left or right edge; the warp shares out their other cells. Of all others each
    vector that lies in the picture is copied as one; the cells of the others go one by one.

    Parameters
    ----------
    code : CudaCode or PlainCode
    shape : TileShape
    rows, itemsize, rule : as for `strip_loader`
    strip : pointer
        To the first cell that is filled.
    window : PictureWindow
    lane : int
    columns : list of int
        What `strip_columns` found.
    ghost_value : float32
    """

    def __init__(
        self,
        code: Any,
        shape: TileShape,
        rows: int,
        itemsize: int,
        rule: Rule,
        strip: Any,
        window: PictureWindow,
        lane: Any,
        columns: Values,
        ghost_value: Any,
    ) -> None:
        self._code, self._shape, self._rows, self._itemsize, self._rule = code, shape, rows, itemsize, rule
        self._strip, self._window, self._lane, self._columns = strip, window, lane, columns
        self._ghost_value = ghost_value
        self._own = lane * VECTOR
        self._target = strip + self._own

    def fill(self) -> None:
        """Do all of it."""
        code, window = self._code, self._window
        is_aligned = window.is_aligned(VECTOR)
        if self._itemsize == 4 and shares_out(self._shape):
            self._copies(is_aligned)
            code.close_group()
            return
        is_inside = window.is_inside(self._rows, self._shape.tile_samples)
        # A loop that stays one: few strips touch an edge, and all would pay with registers.
        code.when(code.all_of(is_aligned, is_inside), self._inside, lambda: self._rows_anywhere(is_aligned))
        if self._itemsize == 4:
            code.close_group()

    def _rows_anywhere(self, is_aligned: Any) -> None:
        for row in self._code.loop(0, self._rows):
            self._row_anywhere(row, is_aligned)

    def _copies(self, is_aligned: Any) -> None:
        """Copy float32 without waiting.

        All strips run at once, so those at an edge hold up all others: `split-float16`, 9 x 9 on 4096 x 4096, took 25 us more with their
        cells one by one (H200).
        """
        code, window, shape = self._code, self._window, self._shape
        first, end = edges_of(code, shape, window.samples, window.left)
        copies = StripCopies(
            code, shape, self._rows, window, self._strip, self._lane, self._columns[-2:], self._ghost_value
        )
        is_any = first < end
        is_inside = code.all_of(is_aligned, window.is_inside(self._rows, shape.tile_samples))

        def at_side() -> None:
            copies.vectors((first, end))
            copies.beside(first, end)

        def outside() -> None:
            across = code.all_of(is_aligned, window.has_rows(self._rows), is_any)
            code.when(across, at_side, lambda: self._rows_anywhere(is_aligned))

        code.when(is_inside, copies.vectors, outside)

    def _is_own(self, number: int) -> Any:
        """Return whether the lane has such a vector in a row; None: all lanes do."""
        vectors = self._shape.tile_samples // VECTOR - LANES * number
        return None if vectors >= LANES else self._code.is_below(self._lane, vectors)

    def _inside(self) -> None:
        code, pitch = self._code, self._shape.tile_samples
        pointer = self._window.row(self._window.top) + (self._window.left + self._own)
        jump = code.unsigned(self._window.pitch)
        pieces = []
        for row in range(self._rows):
            for number in range(vectors_of(self._shape)):
                source_at = LANES * VECTOR * number
                pieces.append((pointer, source_at, row * pitch + source_at, self._is_own(number)))
            pointer += jump
        if self._itemsize == 4:
            for source, source_at, target_at, only_if in pieces:
                code.copy_ahead(self._target, source, VECTOR, only_if, target_at, source_at)
            return
        # A lane that has no such vector reads another one, so that nobody branches while the loads set out.
        under_way = [
            code.load_if(only_if, source + source_at, VECTOR, source)
            for source, source_at, _, only_if in pieces
        ]
        for (_, _, target_at, only_if), values in zip(pieces, under_way, strict=True):
            for _ in code.where(only_if):
                self._store(target_at, values, self._target)

    def _store(self, at: int, values: Values, target: Any) -> None:
        converted = [self._code.float32(value) for value in values]
        (target + at).store(converted)

    def _row_anywhere(self, row: Any, is_aligned: Any) -> None:
        code, window = self._code, self._window
        source_row = by_rule(code, self._rule, window.top + row, window.height)
        target = self._target + row * self._shape.tile_samples
        for vector in range(vectors_of(self._shape)):
            for _ in code.where(self._is_own(vector)):
                self._vector_anywhere(vector, source_row, target, is_aligned)

    def _vector_anywhere(self, vector: int, source_row: Any, target: Any, is_aligned: Any) -> None:
        """Copy a lane's vector; of cells at an edge one after the other, which takes fewer registers than all at once."""
        code, window, at = self._code, self._window, LANES * VECTOR * vector
        target = target + at
        first = window.left + self._own + at
        samples = self._columns[VECTOR * vector : VECTOR * (vector + 1)]
        signs = first | (window.samples - (first + VECTOR))
        if window.has_ghosts:
            signs = signs | source_row
        is_whole = code.all_of(is_aligned, signs >= 0)
        source = window.row(source_row)
        if self._itemsize < 4 and not window.has_ghosts:
            self._integers_anywhere(target, source, first, is_whole, samples)
            return

        def whole() -> None:
            if self._itemsize == 4:
                code.copy_ahead(target, source + first, VECTOR)
            else:
                self._store(0, (source + first).load(VECTOR), target)

        def cells() -> None:
            if window.has_ghosts:
                self._cells_or_ghosts(target, source_row, source, samples)
                return
            for k, sample in enumerate(samples):
                code.copy_ahead(target + k, source + sample, 1)

        code.when(is_whole, whole, cells)

    def _cells_or_ghosts(self, target: Any, source_row: Any, source: Any, samples: Values) -> None:
        code = self._code
        is_row = source_row >= 0

        def copied(k: int) -> None:
            cell, place = source + samples[k], target + k
            if self._itemsize == 4:
                code.copy_ahead(place, cell, 1)
            else:
                place.store(code.float32(cell.load()))

        def ghost(k: int) -> None:
            (target + k).store(self._ghost_value)

        for k, sample in enumerate(samples):
            code.when(code.all_of(is_row, sample >= 0), partial(copied, k), partial(ghost, k))

    def _integers_anywhere(
        self, target: Any, source: Any, first: Any, is_whole: Any, samples: Values
    ) -> None:
        """Load a vector, or its cells, and store it: with one way to the store the compiler has several rows under way.

        Where there are ghost cells this took longer (9 x 9 on 8-bit RGB 244 instead of 227 us), without 216 instead of 275.
        """
        values = self._code.when(
            is_whole,
            lambda: (source + first).load(VECTOR),
            lambda: [(source + sample).load() for sample in samples],
        )
        self._store(0, values, target)


def strip_loader(shape: TileShape, rows: int, itemsize: int, rule: Rule) -> Any:
    """Return the function that fills rows of a strip.

    `load(tile, at, image, samples, top, lane, left, columns, ghost_value)`: row j of them, at element `at` of the tile, is
    row top + j of the picture, from sample `left` (a multiple of 4) on; a row of the picture has `samples` samples, and
    `columns` is what `strip_columns` found for `left`. Cells outside the picture get the value that the border's rule has for
    them. float32 is copied without waiting (`CudaCode.copy_ahead`), as one group; integers are converted on their way.

    Parameters
    ----------
    shape : TileShape
    rows : int
        Rows that are filled.
    itemsize : int
        Bytes of a sample of the picture.
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    """

    def load(
        code: Any,
        tile: Any,
        at: Any,
        image: Any,
        samples: Any,
        top: Any,
        lane: Any,
        left: Any,
        columns: Values,
        ghost_value: Any,
    ) -> None:
        data, window = code.shared(tile), PictureWindow(code, rule, image, samples, top, left)
        strip, lane = data + at, code.narrow(lane)
        StripFill(code, shape, rows, itemsize, rule, strip, window, lane, columns, ghost_value).fill()

    return device_function(types.void, load)
