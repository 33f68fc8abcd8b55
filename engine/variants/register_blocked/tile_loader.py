"""Rows of the input tile of a block, loaded by vectors."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.picture_window import PictureWindow, Rule
from engine.variants.ir.register_tile import VECTOR, TileShape

# Integers that a thread has under way at once; they take registers until they are stored as float32.
BYTES_UNDER_WAY = 80

Values = list[Any]


class Piece(NamedTuple):
    """A vector to copy, so many samples past both pointers, by the threads for which a condition holds."""

    target: Any
    source: Any
    only_if: Any = None
    target_at: int = 0
    source_at: int = 0


def copy_pieces(code: Any, pieces: list[Piece], itemsize: int, always_there: Any = None) -> None:
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


@dataclass
class TileFill:
    """Fills rows of a tile from the cell at `tile` on; the other fields are those of `tile_loader`.

    A tile that lies in the picture is copied by vectors, row under row. Of any other tile the vectors that
    lie in the picture are copied as such, and the other cells one by one, from where the border's rule says.
    """

    code: Any
    shape: TileShape
    rows: int
    itemsize: int
    tile: Any
    window: PictureWindow
    lane: Any
    warp: Any
    ghost_value: Any

    def __post_init__(self) -> None:
        # Vectors of a row under the output tile, and those past it.
        self.main = self.shape.out_samples // VECTOR
        self.extra = self.shape.tile_samples // VECTOR - self.main

    def fill(self) -> None:
        """Do all of it."""
        is_aligned = self.window.is_aligned(VECTOR)
        is_inside = self.window.is_inside(self.rows, self.shape.tile_samples)
        self.code.when(
            self.code.all_of(is_aligned, is_inside), self._inside, lambda: self._anywhere(is_aligned)
        )
        if self.itemsize == 4:
            self.code.close_group()

    def _target(self, row: Any, vector: Any) -> Any:
        return self.tile + (row * self.shape.tile_samples + self.shape.vector_index(vector) * VECTOR)

    def _inside(self) -> None:
        """Move one pointer from row to row; the block's threads share what rows have past the output tile."""
        code, shape, warp = self.code, self.shape, self.warp
        target = self._target(warp, self.lane)
        pointer = always_there = self._source_in_tile(warp, self.lane)
        jump = code.unsigned(self.window.pitch * shape.warps)
        # All warps have this many rows; some may have one more.
        sure, more = divmod(self.rows, shape.warps)
        is_more = code.is_below(warp, more)
        batch: list[Piece] = []
        for number in range(sure + bool(more)):
            start, only_if = number * shape.warps * shape.tile_samples, None if number < sure else is_more
            across = range(0, VECTOR * self.main, VECTOR * 32)
            batch += [Piece(target, pointer, only_if, start + apart, apart) for apart in across]
            pointer += jump
            if (len(batch) + len(across)) * VECTOR * self.itemsize > BYTES_UNDER_WAY:
                copy_pieces(code, batch, self.itemsize, always_there)
                batch = []
        extras = self.rows * self.extra
        for first in range(0, extras, shape.threads):
            number = self._thread() + first
            is_extra = code.is_below(number, extras) if first + shape.threads > extras else None
            row, vector = self._beyond_output_tile(number)
            batch.append(Piece(self._target(row, vector), self._source_in_tile(row, vector), is_extra))
        copy_pieces(code, batch, self.itemsize, always_there)

    def _source_in_tile(self, row: Any, vector: Any) -> Any:
        sample = self.window.left + vector * VECTOR
        return self.window.at(self.window.top + row, sample)

    def _thread(self) -> Any:
        return self.warp * 32 + self.lane

    def _beyond_output_tile(self, number: Any) -> tuple[Any, Any]:
        """Return (row, vector) of piece `number` of what rows have past the output tile."""
        row, column = divmod(number, max(self.extra, 1))
        return row, column + self.main

    def _anywhere(self, is_aligned: Any) -> None:
        """Loops that stay loops: few tiles touch an edge, and all would pay with registers."""
        code, shape = self.code, self.shape
        vectors = [self.lane + first for first in range(0, self.main, 32)]
        sources = [self._samples_of(is_aligned, vector) for vector in vectors]
        for row in code.loop(self.warp, self.rows, shape.warps):
            source_row = self.window.row_of(row)
            for vector, (is_whole, samples) in zip(vectors, sources, strict=True):
                self._vector_anywhere(row, source_row, vector, is_whole, samples)
        for number in code.loop(self._thread(), self.rows * self.extra, shape.threads):
            row, vector = self._beyond_output_tile(number)
            source_row = self.window.row_of(row)
            self._vector_anywhere(row, source_row, vector, *self._samples_of(is_aligned, vector))

    def _samples_of(self, is_aligned: Any, vector: Any) -> tuple[Any, Values]:
        """Return whether a vector is one of the picture's, and the samples of a row that its cells come from.

        -1 for ghost cells. They are the same in every row, so a thread asks the border's rule once.
        """
        code, shape, window = self.code, self.shape, self.window
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

    def _vector_anywhere(
        self, row: Any, source_row: Any, vector: Any, is_whole: Any, samples: Values
    ) -> None:
        target = self._target(row, vector)
        if self.itemsize < 4:
            self._integers_anywhere(target, source_row, is_whole, samples)
        elif self.window.has_ghosts:
            self._floats_or_ghosts(target, source_row, is_whole, samples)
        else:
            self.code.when(
                is_whole,
                partial(self._copy, target, source_row, samples[0], VECTOR),
                lambda: [self._copy(target + k, source_row, sample) for k, sample in enumerate(samples)],
            )

    def _copy(self, target: Any, source_row: Any, sample: Any, count: int = 1) -> Any:
        return self.code.copy_ahead(target, self.window.at(source_row, sample), count)

    def _integers_anywhere(self, target: Any, source_row: Any, is_whole: Any, samples: Values) -> None:
        """Load a vector, or its cells, and store it: with one way to the store several rows are under way.

        Ghost cells are loaded from somewhere in the picture, and replaced (256 x 256 8-bit RGB, 3 x 3,
        float32 results: 4.9 instead of 6.7 us with zeros, 5.1 instead of 7.9 mirrored).
        """
        code, window = self.code, self.window
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
            cells = [code.select(is_cell, value, self.ghost_value) for is_cell, value in pairs]
        target.store(cells)

    def _floats_or_ghosts(self, target: Any, source_row: Any, is_whole: Any, samples: Values) -> None:
        code, ghost = self.code, self.ghost_value
        is_row = source_row >= 0
        all_signs = samples[0]
        for sample in samples[1:]:
            all_signs = all_signs & sample
        has_none = code.negated(is_row) | (all_signs < 0)

        def cells() -> None:
            for k, sample in enumerate(samples):
                copied = partial(self._copy, target + k, source_row, sample)
                code.when(sample >= 0, copied, partial((target + k).store, ghost))

        code.when(
            code.all_of(is_whole, is_row),
            partial(self._copy, target, source_row, samples[0], VECTOR),
            lambda: code.when(has_none, lambda: target.store([ghost] * VECTOR), cells),
        )


def tile_loader(shape: TileShape, rows: int, itemsize: int, rule: Rule) -> Any:
    """Return the function that fills rows of the input tile.

    `load(tile, at, image, samples, top, lane, warp, left, ghost_value)`: row j of them, at element `at` of
    the tile, is row top + j of the picture, from sample `left` (a multiple of 4) on; a row of the picture has
    `samples` samples. Cells outside the picture get the value that the border's rule has for them. A warp
    loads whole rows, 32 vectors at once; the block's threads share what a row has past the output tile.
    float32 is copied without waiting (`CudaCode.copy_ahead`), as one group; integers are converted on their
    way.

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

    def load(code, tile, at, image, samples, top, lane, warp, left, ghost_value):
        target = code.shared(tile) + at
        window = PictureWindow(code, rule, image, samples, top, left)
        lane, warp = code.narrow(lane), code.narrow(warp)
        TileFill(code, shape, rows, itemsize, target, window, lane, warp, ghost_value).fill()

    return device_function(types.void, load)
