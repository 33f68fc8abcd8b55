"""The input tile of a block, loaded by vectors: as float32 or, of 8-bit pictures (`tile_shape.py`), bytes."""

from functools import partial, reduce
from operator import and_
from typing import NamedTuple

from engine.compiled.late_names import types
from engine.geometry.border import ghost
from engine.variants.emit.cuda_code import CudaCode, DeviceFunction, device_function
from engine.variants.emit.llvm import Rule
from engine.variants.emit.value import I32, ArrayArgument, Value
from engine.variants.fast.tile_shape import PIECE, WORD, ByteTileShape, DigitShape, TileShape
from engine.variants.passes import VECTOR

# Integers that a thread has under way at once; they take registers until they are stored as float32.
BYTES_UNDER_WAY = 80


class PictureWindow:
    """What every loader has to know of the picture, H x W x C; `rule` is its border's.

    `samples` are those of one of its rows; further ones are padding. The tile begins with the row `top` and
    the sample `left`, before or in the picture.
    """

    def __init__(
        self, code: CudaCode, rule: Rule, image: ArrayArgument, samples: Value, top: Value, left: Value
    ) -> None:
        self._code, self.rule, self._data = code, rule, code.pointer(image)
        # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the
        # instructions.
        self.height, row_pixels, channels = (code.narrow(side) for side in code.shape(image))
        self.pitch = row_pixels * channels
        self.samples, self.top, self.left = (code.narrow(value) for value in (samples, top, left))
        # By all other rules a cell outside is one of the picture's.
        self.has_ghosts = rule is ghost

    def is_aligned(self, samples: int) -> Value:
        """Return whether rows begin on whole vectors of so many samples; packed rows begin anywhere."""
        return (self.pitch & (samples - 1)) == 0

    def is_inside(self, rows: int, samples: int) -> Value:
        """Return whether so many rows and samples from the tile's first ones on are all the picture's."""
        right, bottom = self.left + samples, self.top + rows
        # Negative if any of them is.
        return (self.left | (self.samples - right)) | (self.top | (self.height - bottom)) >= 0

    def row_of(self, row: Value) -> Value:
        """Return the row that row number `row` of the tile comes from; -1 for ghost cells."""
        return self._code.by_rule(self.rule, self.top + row, self.height)

    def sample_of(self, sample: Value, channels: int, before: int) -> Value:
        """Return the sample of its row that one of the tile comes from; -1 for a ghost cell.

        No tile has more than `before` pixels before the picture, so that what is divided is not negative.
        """
        pixel, channel = divmod(sample + before * channels, channels)
        column = self._code.by_rule(self.rule, pixel - before, self.samples // channels)
        return self._code.select(column < 0, -1, column * channels + channel)

    def at(self, row: Value, sample: Value) -> Value:
        """Return the pointer to a sample of the picture; its row is one of the picture's."""
        code = self._code
        return self._data + (code.unsigned(row) * code.unsigned(self.pitch) + code.wide(sample))


class Piece(NamedTuple):
    """A vector to copy, so many samples past both pointers, by the threads for which a condition holds."""

    target: Value
    source: Value
    only_if: Value | None = None
    target_at: int = 0
    source_at: int = 0


def copy_pieces(code: CudaCode, pieces: list[Piece], itemsize: int, always_there: Value) -> None:
    """Copy vectors; integers are all under way before the first is stored as float32.

    So that no thread branches meanwhile, one that has no such vector loads from `always_there` instead.
    """
    if itemsize == 4:
        for piece in pieces:
            code.copy_ahead(piece.target, piece.source, VECTOR, *piece[2:])
        return
    loaded = []
    for piece in pieces:
        source = piece.source + piece.source_at
        if piece.only_if is not None:
            source = code.select(piece.only_if, source, always_there)
        loaded.append(source.load(VECTOR))
    for piece, values in zip(pieces, loaded, strict=True):
        for _ in code.where(piece.only_if):
            (piece.target + piece.target_at).store([code.float32(value) for value in values])


def tile_loader(shape: TileShape, rows: int, rule: Rule) -> DeviceFunction:
    """Return the function that fills so many rows of the input tile; `rule` is the border's.

    `load(tile, image, samples, top, lane, warp, left, ghost_value)`: row j of them is row top + j of the
    picture, from sample `left` (a multiple of 4) on; a row of the picture has `samples` samples. Cells
    outside the picture get the value that the border's rule has for them. A warp loads whole rows, 32 vectors
    at once; the block's threads share what a row has past the output tile.
    float32 is copied without waiting (`CudaCode.copy_ahead`), as one group; integers are converted on their
    way.

    A tile that lies in the picture is copied by vectors, row under row. Of any other tile the vectors that
    lie in the picture are copied as such, and the other cells one by one, from where the border's rule says.
    """
    # Vectors of a row under the output tile, and those past it.
    main = shape.out_samples // VECTOR
    extra = shape.tile_samples // VECTOR - main
    extras = rows * extra

    def load(code, tile, image, samples, top, lane, warp, left, ghost_value):
        first_cell, itemsize = code.shared(tile), image.kind.dtype.bitwidth // 8
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
            if window.has_ghosts:
                is_row = source_row >= 0
                source_row = code.select(is_row, source_row, 0)
                in_row = [sample >= 0 for sample in samples]
                samples = [code.select(is_cell, one, 0) for is_cell, one in zip(in_row, samples, strict=True)]
                are_cells = [code.all_of(is_row, is_cell) for is_cell in in_row]
            values = code.when(
                is_whole,
                lambda: window.at(source_row, samples[0]).load(VECTOR),
                lambda: [window.at(source_row, sample).load() for sample in samples],
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


def byte_tile_loader(shape: ByteTileShape | DigitShape, rule: Rule) -> DeviceFunction:
    """Return the function that fills the input tile; `rule` is the border's.

    `load(tile, image, samples, top, lane, warp, left, ghost_value)`: row j of the tile is row top + j of the
    picture, from sample `left` (a multiple of 16) on; a row of the picture has `samples` samples. Cells
    outside the picture get the value that the border's rule has for them; `ghost_value` is a whole number
    from 0 to 255. Cells that no result reads may stay what they were. In a tile that touches an edge, rows
    come from where the border's rule says, and the columns that no whole piece of the picture covers, few of
    them, are shared out cell by cell.
    """
    pieces, cells = shape.tile_samples // PIECE, shape.tile_samples
    rows_of_round = shape.threads // pieces

    def load(code, tile, image, samples, top, lane, warp, left, ghost_value):
        window = PictureWindow(code, rule, image, samples, top, left)
        thread, tile = code.narrow(warp) * 32 + code.narrow(lane), code.shared(tile)
        # A thread copies one piece per round, always in the same columns, so it divides once.
        own_row, piece = divmod(thread, pieces)
        own_column = piece * PIECE
        has_piece = code.is_below(own_row, rows_of_round)

        def target_of(row, column):
            return tile + (row * cells + column)

        def inside():
            """All rounds but the last have all their rows; each pointer is one multiply-add of 64 bits."""
            for _ in code.where(has_piece):
                target = target_of(own_row, own_column)
                sample = window.left + own_column
                pointer = window.at(window.top + own_row, sample)
                pitch = code.unsigned(window.pitch)
                for first in range(0, shape.tile_rows, rows_of_round):
                    is_last = first + rows_of_round > shape.tile_rows
                    is_row = code.is_below(own_row, shape.tile_rows - first) if is_last else None
                    code.copy_ahead(target, pointer + pitch * first, PIECE, is_row, first * cells)

        def anywhere():
            """Loops that stay loops: few tiles touch an edge."""
            ghost, first = code.byte(ghost_value), window.left + own_column
            last = first + PIECE
            is_whole = code.all_of(first >= 0, last <= window.samples)
            for _ in code.where(code.all_of(is_aligned, is_whole, has_piece)):
                for row in code.loop(own_row, shape.tile_rows, rows_of_round):
                    fill_piece(window.row_of(row), target_of(row, own_column), first, ghost)
            fill_cells(ghost)

        def fill_piece(source_row, target, first, ghost):
            def copied():
                code.copy_ahead(target, window.at(source_row, first), PIECE)

            def filled():
                target.store([ghost.zext(I32) * 0x01010101] * (PIECE // WORD))

            if window.has_ghosts:
                code.when(source_row >= 0, copied, filled)
            else:
                copied()

        def fill_cells(ghost):
            """Fill the cells that results read and no piece covers: begin .. stop - 1, end .. limit - 1."""
            begin = shape.before - shape.left
            stop = code.select(code.all_of(is_aligned, window.left < 0), shape.before, code.integer(begin))
            whole = window.samples & -PIECE
            end = code.smaller(whole - window.left, cells)
            end = code.select(is_aligned, code.larger(end, stop), begin)
            # Past it lies what no result of the picture reads.
            limit = code.larger(code.smaller(window.samples + shape.right - window.left, cells), end)
            before = stop - begin
            count = before + (limit - end)
            for number in code.loop(thread, count * shape.tile_rows, shape.threads):
                row, cell = divmod(number, count)
                column = code.select(cell < before, cell + begin, cell - before + end)
                source_row = window.row_of(row)
                sample = window.sample_of(window.left + column, shape.channels, shape.before)
                fill_cell(target_of(row, column), source_row, sample, ghost)

        def fill_cell(target, source_row, sample, ghost):
            """Fill a cell: with one way to the store the compiler has several under way.

            That pays where a thread has several (256 x 256 RGB, 7 x 7: 4.7 instead of 5.8 us with zeros, 4.8
            instead of 7.0 mirrored): ghost cells are loaded from somewhere in the picture, and replaced. Of
            one channel there are few (5 x 5: 3.7 instead of 3.3 us).
            """
            is_cell = source_row | sample >= 0

            def copied():
                target.store(window.at(source_row, sample).load())

            if shape.channels == 1:
                code.when(is_cell, copied, lambda: target.store(ghost))
            elif window.has_ghosts:
                own = window.at(code.select(is_cell, source_row, 0), code.select(is_cell, sample, 0))
                target.store(code.select(is_cell, own.load(), ghost))
            else:
                copied()

        is_aligned = window.is_aligned(PIECE)
        is_inside = window.is_inside(shape.tile_rows, cells)
        code.when(code.all_of(is_aligned, is_inside), inside, anywhere)
        code.close_group()

    return device_function(types.void, load)
