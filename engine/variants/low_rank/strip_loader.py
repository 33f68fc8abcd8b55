"""Rows of a warp's strip, loaded by vectors.

As `engine/variants/tiles/tile_loader.py`, for one warp that comes back for more rows of the same
columns again and again: which samples the cells outside the picture stand for is found out once.
"""

from collections.abc import Callable
from functools import partial

from numba import types

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.picture_window import PictureWindow, Rule
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.ir.value import Value
from engine.variants.low_rank.strip_shape import LANES, after_strip, beside, shares_out
from engine.variants.tiles.tile_loader import Piece, copy_pieces


def vectors_of(shape: TileShape) -> int:
    """Return the vectors of a row that a lane copies at most: lane, lane + 32 ..."""
    return -(-shape.tile_samples // (VECTOR * LANES))


def _by_rule(code: CudaCode, rule: Rule, index: Value, length: Value) -> Value:
    """Return what the border's rule says of an index, 32 bits wide; asked only of one outside."""
    is_outside = index | (length - 1 - index) < 0
    return code.when(is_outside, lambda: code.by_rule(rule, index, length), index)


def _edges_of(code: CudaCode, shape: TileShape, samples: Value, left: Value) -> tuple[Value, Value]:
    """Return the first cell of a strip's row in the picture, and the one after its last vector there."""

    def within(value: Value) -> Value:
        value = code.select(value < 0, 0, value)
        return code.select(value > shape.tile_samples, shape.tile_samples, value)

    end = within(samples - left) & -VECTOR
    return within(0 - left), end


def _needed_cells(code: CudaCode, shape: TileShape, samples: Value, left: Value) -> Value:
    """Return how many cells of a strip's row its results in the picture need, in whole vectors.

    The last strip of a row needs fewer than it has. With all of them, one by one past the picture, its warp
    takes twice as long.
    """
    cells = (samples - left + (VECTOR - 1) & -VECTOR) + after_strip(shape)
    return code.smaller(cells, shape.tile_samples)


def _cells_beside(shape: TileShape, lane: Value, edges: tuple[Value, Value]) -> tuple[Value, Value]:
    """Return a lane's cell among those just before the picture, and among those after its last vector."""
    own, (first, end) = lane & (beside(shape) - 1), edges
    return first - beside(shape) + own, end + own


def strip_columns(shape: TileShape, rule: Rule, itemsize: int) -> DeviceFunction:
    """Return the function `columns(samples, lane, left)` -> the samples of a lane's cells, -1 for a ghost.

    `left` is the strip's first cell, before or in the picture, `samples` those of a row of the picture. The
    cells are those beside the picture (`_cells_beside`) where the lanes share them out, else those of the
    lane's vectors.
    """
    is_shared = shares_out(shape, itemsize)
    count = 2 if is_shared else VECTOR * vectors_of(shape)

    def columns(code, samples, lane, left):
        samples, lane, left = (code.narrow(value) for value in (samples, lane, left))
        channels = shape.channels
        width, own = samples // channels, lane * VECTOR
        cells = [own + (offset // VECTOR * LANES * VECTOR + offset % VECTOR) for offset in range(count)]
        if is_shared:
            cells = [*_cells_beside(shape, lane, _edges_of(code, shape, samples, left))]
        # So many pixels further on, what is divided is not negative; of what lies before the strip nothing is
        # used.
        further = shape.before + beside(shape)
        found = []
        for offset in cells:
            pixel, channel = divmod(left + offset + further * channels, channels)
            column = _by_rule(code, rule, pixel - further, width)
            found.append(code.select(column < 0, -1, column * channels + channel))
        return found

    return device_function(types.UniTuple(types.int32, count), columns)


def _copy_floats(
    code: CudaCode, shape: TileShape, rows: int, strip: Value, window: PictureWindow, lane: Value,
    own_samples: list[Value], ghost_value: Value,
) -> None:  # fmt: skip
    """Copy rows of float32 to the strip without waiting; `own_samples` are those of `_cells_beside`.

    Strips at an edge would take longer than all others with their cells one by one.
    """
    pitch = shape.tile_samples
    is_aligned = window.is_aligned(VECTOR)
    edges = _edges_of(code, shape, window.samples, window.left)

    def is_in_picture(cell: Value) -> Value:
        return code.all_of(cell >= edges[0], cell < edges[1])

    def sides() -> list[tuple[Value, Value, Value]]:
        """Return of a lane's cell on the left, and on the right: whether it is one, the cell, its sample."""
        left, right = _cells_beside(shape, lane, edges)
        is_right = right < _needed_cells(code, shape, window.samples, window.left)
        return [(left >= 0, left, own_samples[0]), (is_right, right, own_samples[1])]

    def copy_cell(target: Value, source: Value, sample: Value) -> None:
        def copied() -> None:
            code.copy_ahead(target, source + sample, 1)

        if window.has_ghosts:
            code.when(sample >= 0, copied, lambda: target.store(ghost_value))
        else:
            copied()

    def copy_vectors(is_needed: Callable[[Value], Value | None] = lambda cell: None) -> None:
        """Copy each row's vectors: a warp has whole rows; what is left of them all lanes share."""
        source = start = window.row(window.top) + window.left
        jump = code.unsigned(window.pitch)
        whole, rest = divmod(pitch // VECTOR, LANES)
        for row in range(rows):
            for number in range(whole):
                cell = lane * VECTOR + LANES * VECTOR * number
                code.copy_ahead(strip + cell, source + cell, VECTOR, is_needed(cell), row * pitch)
            source += jump
        for begin in range(0, rows * rest, LANES):
            turn = lane + begin
            line, past = divmod(turn, rest)
            cell = past * VECTOR + LANES * VECTOR * whole
            target = strip + (line * pitch + cell)
            at = code.unsigned(line) * jump + code.unsigned(cell)
            is_one, is_there = code.is_below(turn, rows * rest), is_needed(cell)
            is_one = is_one if is_there is None else code.all_of(is_one, is_there)
            code.copy_ahead(target, start + at, VECTOR, is_one)

    def at_side() -> None:
        """Copy rows of the picture: the vectors in it, and the cells left or right of it, or at its edge."""
        copy_vectors(is_in_picture)
        at_once = LANES // beside(shape)
        row = lane // beside(shape)
        source, jump = window.row(window.top + row), code.unsigned(window.pitch)
        for is_one, cell, sample in sides():
            for _ in code.where(is_one):
                target, own_source = strip + (row * pitch + cell), source
                for first in range(0, rows, at_once):
                    is_row = None if first + at_once <= rows else code.is_below(row, rows - first)
                    for _ in code.where(is_row):
                        copy_cell(target + first * pitch, own_source, sample)
                    own_source += jump * at_once

    def anywhere() -> None:
        """Copy rows that may lie above or below the picture, or whose vectors are not aligned.

        It is a loop that stays one: few groups of rows need it, and all would pay with registers.
        """
        needed = _needed_cells(code, shape, window.samples, window.left)
        vectors = [lane * VECTOR + first for first in range(0, pitch, LANES * VECTOR)]
        for row in code.loop(0, rows):
            source_row = _by_rule(code, window.rule, window.top + row, window.height)
            target, source = strip + row * pitch, window.row(source_row)
            copied, ghosts = (
                partial(copy_row, vectors, source, target),
                partial(fill_row, vectors, needed, target),
            )
            if window.has_ghosts:
                code.when(source_row >= 0, copied, ghosts)
            else:
                copied()

    def copy_row(vectors: list[Value], source: Value, target: Value) -> None:
        def by_vectors() -> None:
            for cell in vectors:
                is_there = is_in_picture(cell)
                code.copy_ahead(target + cell, source + window.left + cell, VECTOR, is_there)

        def by_cells() -> None:
            for cell in vectors:
                for _ in code.where(is_in_picture(cell)):
                    for k in range(VECTOR):
                        code.copy_ahead(target + cell, source + window.left + cell, 1, None, k, k)

        code.when(is_aligned, by_vectors, by_cells)
        for is_one, cell, sample in sides():
            for _ in code.where(code.all_of(is_one, code.is_below(lane, beside(shape)))):
                copy_cell(target + cell, source, sample)

    def fill_row(vectors: list[Value], needed: Value, target: Value) -> None:
        for cell in vectors:
            for _ in code.where(cell < needed):
                (target + cell).store([ghost_value] * VECTOR)

    def outside() -> None:
        code.when(code.all_of(is_aligned, window.has_rows(rows)), at_side, anywhere)

    code.when(code.all_of(is_aligned, window.is_inside(rows, pitch)), copy_vectors, outside)


def strip_loader(shape: TileShape, rows: int, itemsize: int, rule: Rule) -> DeviceFunction:
    """Return the function that fills rows of a strip: that of `tile_loader` for one warp.

    `load(tile, at, image, samples, top, lane, left, columns, ghost_value)`; `columns` is what `strip_columns`
    found for `left`. Where cells are shared out (`shares_out`), those of the last strip of a row that no
    result in the picture needs stay as they are.

    Rows that lie in the picture, with all their cells, are copied by vectors, all under way at once. Of
    float32 so are the vectors in the picture of rows that lie across its left or right edge; the warp shares
    out their other cells. Of all others each vector that lies in the picture is copied as one; the cells of
    the others go one by one.
    """
    pitch, vectors = shape.tile_samples, range(vectors_of(shape))

    def load(code, tile, at, image, samples, top, lane, left, columns, ghost_value):
        data, window = code.shared(tile), PictureWindow(code, rule, image, samples, top, left)
        strip, lane = data + at, code.narrow(lane)
        own = lane * VECTOR
        own_target = strip + own

        def is_own(number):
            """Return whether the lane has such a vector in a row; None: all lanes do."""
            left_over = pitch // VECTOR - LANES * number
            return None if left_over >= LANES else code.is_below(lane, left_over)

        def inside():
            pointer, pieces = window.row(window.top) + (window.left + own), []
            jump = code.unsigned(window.pitch)
            for row in range(rows):
                for number in vectors:
                    apart = LANES * VECTOR * number
                    pieces.append(Piece(own_target, pointer, is_own(number), row * pitch + apart, apart))
                pointer += jump
            copy_pieces(code, pieces, itemsize)

        def rows_anywhere():
            """Copy in a loop that stays one: few strips touch an edge, and all would pay with registers."""
            for row in code.loop(0, rows):
                source_row = _by_rule(code, rule, window.top + row, window.height)
                target = own_target + row * pitch
                for number in vectors:
                    for _ in code.where(is_own(number)):
                        vector_anywhere(number, source_row, target)

        def vector_anywhere(number, source_row, target):
            """Copy a lane's vector; cells at an edge one after the other, which takes fewer registers."""
            apart = LANES * VECTOR * number
            target, first = target + apart, window.left + own + apart
            cells = columns[VECTOR * number : VECTOR * (number + 1)]
            signs = first | (window.samples - (first + VECTOR))
            if window.has_ghosts:
                signs = signs | source_row
            is_whole = code.all_of(is_aligned, signs >= 0)
            source = window.row(source_row)

            def whole():
                copy_pieces(code, [Piece(target, source + first)], itemsize)

            def copy_cell(k):
                cell, offset = source + cells[k], target + k
                if itemsize == 4:
                    code.copy_ahead(offset, cell, 1)
                else:
                    offset.store(code.float32(cell.load()))

            def fill_ghost(k):
                (target + k).store(ghost_value)

            def cells_or_ghosts():
                is_row = source_row >= 0
                for k, sample in enumerate(cells):
                    is_cell = code.all_of(is_row, sample >= 0)
                    code.when(is_cell, partial(copy_cell, k), partial(fill_ghost, k))

            if window.has_ghosts:
                code.when(is_whole, whole, cells_or_ghosts)
            elif itemsize == 4:
                code.when(is_whole, whole, lambda: [copy_cell(k) for k in range(VECTOR)])
            else:
                # Load a vector, or its cells, and store it: with one way to the store several rows are under
                # way. Where there are ghost cells this took longer (9 x 9 on 8-bit RGB 244 instead of 227
                # us), without 216 instead of 275.
                values = code.when(
                    is_whole,
                    lambda: (source + first).load(VECTOR),
                    lambda: [(source + sample).load() for sample in cells],
                )
                target.store([code.float32(value) for value in values])

        if shares_out(shape, itemsize):
            _copy_floats(code, shape, rows, strip, window, lane, columns, ghost_value)
        else:
            is_aligned = window.is_aligned(VECTOR)
            is_inside = window.is_inside(rows, pitch)
            code.when(code.all_of(is_aligned, is_inside), inside, rows_anywhere)
        if itemsize == 4:
            code.close_group()

    return device_function(types.void, load)
