"""Rows of the input tile of a block, loaded by vectors."""

from functools import partial, reduce
from operator import and_
from typing import NamedTuple

from numba import types

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.picture_window import PictureWindow, Rule
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.ir.value import Value

# Integers that a thread has under way at once; they take registers until they are stored as float32.
BYTES_UNDER_WAY = 80


class Piece(NamedTuple):
    """A vector to copy, so many samples past both pointers, by the threads for which a condition holds."""

    target: Value
    source: Value
    only_if: Value | None = None
    target_at: int = 0
    source_at: int = 0


def copy_pieces(
    code: CudaCode, pieces: list[Piece], itemsize: int, always_there: Value | None = None
) -> None:
    """Copy vectors; integers are all under way before the first is stored as float32.

    So that no thread branches meanwhile, one that has no such vector loads from `always_there` instead, or
    from where the piece's source points to.
    """
    if itemsize == 4:
        for piece in pieces:
            code.copy_ahead(piece.target, piece.source, VECTOR, *piece[2:])
        return
    loaded = []
    for piece in pieces:
        elsewhere = piece.source if always_there is None else always_there
        loaded.append(code.load_if(piece.only_if, piece.source + piece.source_at, VECTOR, elsewhere))
    for piece, values in zip(pieces, loaded, strict=True):
        for _ in code.where(piece.only_if):
            (piece.target + piece.target_at).store([code.float32(value) for value in values])


def tile_loader(shape: TileShape, rows: int, itemsize: int, rule: Rule) -> DeviceFunction:
    """Return the function that fills rows of the input tile.

    `load(tile, image, samples, top, lane, warp, left, ghost_value)`: row j of them is row top + j of the
    picture, from sample `left` (a multiple of 4) on; a row of the picture has `samples` samples. Cells
    outside the picture get the value that the border's rule has for them. A warp loads whole rows, 32 vectors
    at once; the block's threads share what a row has past the output tile.
    float32 is copied without waiting (`CudaCode.copy_ahead`), as one group; integers are converted on their
    way.

    A tile that lies in the picture is copied by vectors, row under row. Of any other tile the vectors that
    lie in the picture are copied as such, and the other cells one by one, from where the border's rule says.

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
    # Vectors of a row under the output tile, and those past it.
    main = shape.out_samples // VECTOR
    extra = shape.tile_samples // VECTOR - main
    extras = rows * extra

    def load(code, tile, image, samples, top, lane, warp, left, ghost_value):
        first_cell = code.shared(tile)
        window = PictureWindow(code, rule, image, samples, top, left)
        lane, warp = code.narrow(lane), code.narrow(warp)

        def target_of(row, vector):
            return first_cell + (row * shape.tile_samples + shape.vector_index(vector) * VECTOR)

        def source_of(row, vector):
            """Return where a vector of a tile in the picture comes from."""
            sample = window.left + vector * VECTOR
            return window.at(window.top + row, sample)

        def beyond_output_tile(number):
            """Return (row, vector) of piece `number` of what rows have past the output tile."""
            row, column = divmod(number, max(extra, 1))
            return row, column + main

        def inside():
            """Move a pointer from row to row; the block's threads share what lies past the output tile."""
            target = target_of(warp, lane)
            pointer = always_there = source_of(warp, lane)
            jump = code.unsigned(window.pitch * shape.warps)
            # All warps have this many rows; some may have one more.
            sure, more = divmod(rows, shape.warps)
            is_more = code.is_below(warp, more)
            batch: list[Piece] = []
            for number in range(sure + bool(more)):
                start, only_if = number * shape.warps * shape.tile_samples, None if number < sure else is_more
                across = range(0, VECTOR * main, VECTOR * 32)
                batch += [Piece(target, pointer, only_if, start + apart, apart) for apart in across]
                pointer += jump
                if (len(batch) + len(across)) * VECTOR * itemsize > BYTES_UNDER_WAY:
                    copy_pieces(code, batch, itemsize, always_there)
                    batch = []
            for first in range(0, extras, shape.threads):
                number = warp * 32 + lane + first
                is_extra = code.is_below(number, extras) if first + shape.threads > extras else None
                row, vector = beyond_output_tile(number)
                batch.append(Piece(target_of(row, vector), source_of(row, vector), is_extra))
            copy_pieces(code, batch, itemsize, always_there)

        def anywhere():
            """Loops that stay loops: few tiles touch an edge, and all would pay with registers."""
            vectors = [lane + first for first in range(0, main, 32)]
            sources = [samples_of(vector) for vector in vectors]
            for row in code.loop(warp, rows, shape.warps):
                source_row = window.row_of(row)
                for vector, (is_whole, samples) in zip(vectors, sources, strict=True):
                    fill_vector(target_of(row, vector), source_row, is_whole, samples)
            for number in code.loop(warp * 32 + lane, extras, shape.threads):
                row, vector = beyond_output_tile(number)
                source_row = window.row_of(row)
                is_whole, samples = samples_of(vector)
                fill_vector(target_of(row, vector), source_row, is_whole, samples)

        def samples_of(vector):
            """Return whether a vector is one of the picture's, and where in a row its cells come from.

            -1 for ghost cells. They are the same in every row, so a thread asks the border's rule once.
            """
            first = window.left + vector * VECTOR
            last = first + VECTOR
            is_inside = code.all_of(first >= 0, last <= window.samples)
            own = [first + k for k in range(VECTOR)]
            samples = code.when(
                code.negated(is_inside),
                lambda: [window.sample_of(sample, shape.channels, shape.before) for sample in own],
                own,
            )
            return code.all_of(is_aligned, is_inside), samples

        def fill_vector(target, source_row, is_whole, samples):
            def copied(k, count=1):
                code.copy_ahead(target + k, window.at(source_row, samples[k]), count)

            if itemsize < 4:
                fill_integers(target, source_row, is_whole, samples)
            elif window.has_ghosts:
                fill_floats_or_ghosts(target, source_row, is_whole, samples, copied)
            else:
                code.when(is_whole, lambda: copied(0, VECTOR), lambda: [copied(k) for k in range(VECTOR)])

        def fill_integers(target, source_row, is_whole, samples):
            """Load a vector, or its cells, and store it: with one way to the store rows are under way.

            Ghost cells are loaded from somewhere in the picture, and replaced (256 x 256 8-bit RGB, 3 x 3,
            float32 results: 4.9 instead of 6.7 us with zeros, 5.1 instead of 7.9 mirrored).
            """
            is_row, are_cells = None, [None] * VECTOR
            if window.has_ghosts:
                is_row = source_row >= 0
                source_row = code.select(is_row, source_row, 0)
                in_row = [sample >= 0 for sample in samples]
                samples = [code.select(is_cell, one, 0) for is_cell, one in zip(in_row, samples, strict=True)]
                are_cells = [code.all_of(is_row, is_cell) for is_cell in in_row]
            values = code.when(
                is_whole,
                lambda: code.load_if(is_row, window.at(source_row, samples[0]), VECTOR),
                lambda: [
                    code.load_if(is_cell, window.at(source_row, sample))
                    for is_cell, sample in zip(are_cells, samples, strict=True)
                ],
            )
            cells = [code.float32(value) for value in values]
            if window.has_ghosts:
                pairs = zip(are_cells, cells, strict=True)
                cells = [code.select(is_cell, value, ghost_value) for is_cell, value in pairs]
            target.store(cells)

        def fill_floats_or_ghosts(target, source_row, is_whole, samples, copied):
            is_row = source_row >= 0
            has_none = code.negated(is_row) | (reduce(and_, samples) < 0)

            def cells():
                for k, sample in enumerate(samples):
                    code.when(sample >= 0, partial(copied, k), partial((target + k).store, ghost_value))

            code.when(
                code.all_of(is_whole, is_row),
                lambda: copied(0, VECTOR),
                lambda: code.when(has_none, lambda: target.store([ghost_value] * VECTOR), cells),
            )

        is_aligned = window.is_aligned(VECTOR)
        is_inside = window.is_inside(rows, shape.tile_samples)
        code.when(code.all_of(is_aligned, is_inside), inside, anywhere)
        if itemsize == 4:
            code.close_group()

    return device_function(types.void, load)
