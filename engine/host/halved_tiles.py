"""A large picture in tiles of every level for the screen, read and halved when they are requested.

A level is the one before, halved: means of two by two. Where the file has such a level itself, that is read.
Where a tile stands for so much of the file that reading all of it takes long, a sample comes first, and the
whole later, in steps that are kept.
"""

import threading
import time

import numpy as np

from engine.errors import ImageReadError
from engine.host.protocol import TILE, WHOLE, Place, TiledScreen
from engine.image.convert import halved, halved_sides
from engine.image.large.source import LargePicture, SegmentedPicture
from engine.process import KeptValues

READ_BYTES = 4 << 20  # what is read at once for a tile; more than that is sampled first
CACHE_BYTES = 24 << 20  # tiles that are kept, bytes
# Strips with more columns than this are decoded for whole rows of tiles, which take so many bytes at most.
_WIDE = 2048
_ROW_BYTES = 8 << 20
# Chunks of the file that are decoded for the first samples of a view, and the most along a side of a tile.
_SAMPLED_CHUNKS = 200
_MOST_CELLS = 32
_SAMPLE_SIDE = 32  # sides of what is read of a chunk, pixels
_LOST = np.empty(0, np.uint8)  # in place of a tile whose part of the file is damaged

Samples = np.ndarray


class TimeIsOver(Exception):
    """A tile needs more reading than the time of its request allows; what was read is kept."""


class HalvedTiles:
    """The tiles of an open picture. Called on: any thread.

    `levels` are the rows and columns of each level for the screen, `extent(level, place)` those of a level
    that a tile covers, `sampled_from` is the first level whose tiles are sampled. `fault` says what is wrong
    with the file, where a part of it could not be read.
    """

    def __init__(self, picture: LargePicture) -> None:
        self.picture = picture
        self.levels = halved_sides(picture.height, picture.width, (TILE, TILE))
        self.extent = TiledScreen("", self.levels).extent
        self._sources = [self._source_of(level) for level in range(len(self.levels))]
        pixel = self._pixel_bytes = picture.channels * picture.dtype.itemsize
        self._read_bytes = [TILE * TILE * pixel << 2 * halvings for _, halvings in self._sources]
        is_sampled = [count > READ_BYTES for count in self._read_bytes]
        # Strips of a wide picture: to read a few columns all are decoded, so rows of tiles are made at once.
        self.has_strips = isinstance(picture, SegmentedPicture) and picture.chunk[1] > _WIDE
        if self.has_strips:
            is_sampled = [TILE * width * pixel <= _ROW_BYTES for _, width in self.levels]
        self.sampled_from = [*is_sampled, True].index(True)
        self._rows: KeptValues[tuple[int, int], Samples] = KeptValues(3 * _ROW_BYTES)
        self._begun: tuple[tuple[int, int], Samples, int] | None = None
        self.fault: ImageReadError | None = None
        self._first_notes = picture.notes
        self._kept: KeptValues[tuple[int, Place], Samples] = KeptValues(CACHE_BYTES)
        self._reading = threading.RLock()

    def _source_of(self, level: int) -> tuple[int, int]:
        """Return the level of the file that a level is made from, and how often it is halved."""
        for halvings in range(level + 1):
            rows, columns = self.levels[level - halvings]
            for index, (has_rows, has_columns) in enumerate(self.picture.levels):
                # Some programs round down where others round up.
                if abs(has_rows - rows) <= 1 and abs(has_columns - columns) <= 1:
                    return index, halvings
        raise AssertionError("the full size is a level of the file")

    @property
    def note(self) -> str:
        """What is special about the file, noticed since it was opened; empty for nothing."""
        return next((note for note in self.picture.notes if note not in self._first_notes), "")

    def whole(self, level: int, place: Place, ends_at: float) -> Samples | None:
        """Return a tile, H x W x C; None where it is damaged. Raises TimeIsOver when `ends_at` is over."""
        if (kept := self._kept.get((level, place))) is not None:
            return kept if kept.size else None
        if self.has_strips and level >= self.sampled_from:
            with self._reading:
                row = self._row_of_strips(level, place[0], ends_at)
            return self._keep(level, place, np.ascontiguousarray(row[:, self.extent(level, place)[1]]))
        if self._read_bytes[level] > READ_BYTES:
            return self._keep(level, place, self._of_children(level, place, ends_at))
        # The picture and its result often want the same at the same time: one reads, both have it.
        with self._reading:
            if (kept := self._kept.get((level, place))) is not None:
                return kept if kept.size else None
            if time.monotonic() > ends_at:
                raise TimeIsOver
            try:
                tile: Samples | None = self._read_beside(level, place)
            except ImageReadError as error:
                self.fault = error
                # Of the four below only the damaged one is lost.
                tile = self._of_children(level, place, ends_at) if self._sources[level][1] else None
            return self._keep(level, place, tile)

    def rectangle(self, level: int, rows: slice, columns: slice, ends_at: float) -> Samples:
        """Return a rectangle of a level. Raises TimeIsOver; ImageReadError: a part of it is damaged."""
        channels, dtype = self.picture.channels, self.picture.dtype
        out = np.empty((rows.stop - rows.start, columns.stop - columns.start, channels), dtype)
        for down in range(rows.start // TILE, -(-rows.stop // TILE)):
            for across in range(columns.start // TILE, -(-columns.stop // TILE)):
                tile = self.whole(level, (down, across), ends_at)
                if tile is None:
                    assert self.fault is not None
                    raise self.fault
                top, left = down * TILE, across * TILE
                first, last = max(rows.start, top), min(rows.stop, top + TILE)
                begin, end = max(columns.start, left), min(columns.stop, left + TILE)
                out[first - rows.start : last - rows.start, begin - columns.start : end - columns.start] = (
                    tile[first - top : last - top, begin - left : end - left]
                )
        return out

    def sampled(self, level: int, place: Place, detail: int, among: int) -> Samples | None:
        """Return a small picture of a tile: means of chunks that lie evenly in it.

        For the first detail, of tiles `among` so many; a further one has four times as many along each side.
        """
        rows, columns = self.extent(level, place)
        cells = _MOST_CELLS >> 2 * (WHOLE - 1 - detail)
        if not detail:
            cells = max(1, min(_MOST_CELLS >> 2, int((_SAMPLED_CHUNKS / max(among, 1)) ** 0.5)))
        source, halvings = self._sources[level]
        out: list[list[Samples]] = []
        try:
            for down in _middles(rows, cells):
                out.append([])
                for across in _middles(columns, cells):
                    inside = self._inside_chunk(source, down << halvings, across << halvings)
                    part = self.picture.read(source, *inside)
                    mean = part.mean((0, 1))
                    out[-1].append(mean if part.dtype.kind == "f" else np.rint(mean))
        except ImageReadError as error:
            self.fault = error
            return None
        return np.array(out).astype(self.picture.dtype)

    def _inside_chunk(self, level: int, row: int, column: int) -> tuple[slice, slice]:
        """Return a few rows and columns around a pixel that lie in one chunk with it."""
        spans, sides = [], self.picture.levels[level]
        for at, side, chunk in zip((row, column), sides, self.picture.chunk, strict=True):
            at = min(at, side - 1)
            begin = at // chunk * chunk
            end = min(begin + chunk, side)
            first = max(begin, min(at - _SAMPLE_SIDE // 2, end - _SAMPLE_SIDE))
            spans.append(slice(first, min(first + _SAMPLE_SIDE, end)))
        return spans[0], spans[1]

    def _of_children(self, level: int, place: Place, ends_at: float) -> Samples | None:
        """Return a tile as half of the four of the level before that it covers; damaged ones are black."""
        rows, columns = self.levels[level - 1]
        (top, left), channels = (2 * TILE * place[0], 2 * TILE * place[1]), self.picture.channels
        shape = min(2 * TILE, rows - top), min(2 * TILE, columns - left), channels
        out, is_lost = np.zeros(shape, self.picture.dtype), True
        for down in range(-(-shape[0] // TILE)):
            for across in range(-(-shape[1] // TILE)):
                child = self.whole(level - 1, (2 * place[0] + down, 2 * place[1] + across), ends_at)
                if child is not None:
                    is_lost = False
                    at = slice(down * TILE, down * TILE + len(child))
                    out[at, across * TILE : across * TILE + child.shape[1]] = child
        return None if is_lost else halved(out)

    def _read_beside(self, level: int, place: Place) -> Samples:
        """Return a tile; of strips its neighbours are kept too, which cost no more."""
        rows, columns = self.extent(level, place)
        together = max(1, READ_BYTES // self._read_bytes[level]) if self.has_strips else 1
        if together == 1:
            return self._read(level, rows, columns)
        first = place[1] // together * together
        last = min((first + together) * TILE, self.levels[level][1])
        pixels = self._read(level, rows, slice(first * TILE, last))
        for number in range(-(-pixels.shape[1] // TILE)):
            part = np.ascontiguousarray(pixels[:, number * TILE : (number + 1) * TILE])
            self._keep(level, (place[0], first + number), part)
        return np.ascontiguousarray(pixels[:, columns.start - first * TILE : columns.stop - first * TILE])

    def _row_of_strips(self, level: int, down: int, ends_at: float) -> Samples:
        """Return a whole row of tiles, each strip of which is decoded once; damaged strips are black."""
        if (kept := self._rows.get((level, down))) is not None:
            return kept
        if level > self.sampled_from:
            last = -(-self.levels[level - 1][0] // TILE)
            above = range(2 * down, min(2 * down + 2, last))
            row = halved(np.concatenate([self._row_of_strips(level - 1, one, ends_at) for one in above]))
        else:
            row = self._row_from_file(level, down, ends_at)
        self._rows.add((level, down), row, row.nbytes)
        return row

    def _row_from_file(self, level: int, down: int, ends_at: float) -> Samples:
        height, width = self.levels[level]
        top, bottom = down * TILE, min((down + 1) * TILE, height)
        row, done = np.zeros((bottom - top, width, self.picture.channels), self.picture.dtype), 0
        if self._begun is not None and self._begun[0] == (level, down):
            _, row, done = self._begun
        step = max(1, READ_BYTES // (width * self._pixel_bytes << 2 * self._sources[level][1]))
        while done < len(row):
            if time.monotonic() > ends_at:
                self._begun = (level, down), row, done
                raise TimeIsOver
            end = min(done + step, len(row))
            try:
                row[done:end] = self._read(level, slice(top + done, top + end), slice(0, width))
            except ImageReadError as error:
                self.fault = error
            done = end
        self._begun = None
        return row

    def _read(self, level: int, rows: slice, columns: slice) -> Samples:
        source, halvings = self._sources[level]
        wanted = [
            slice(part.start << halvings, min(part.stop << halvings, side))
            for part, side in zip((rows, columns), self.picture.levels[source], strict=True)
        ]
        pixels = halved(self.picture.read(source, *wanted), halvings)
        missing = (rows.stop - rows.start) - len(pixels), (columns.stop - columns.start) - pixels.shape[1]
        if any(missing):
            # Its program rounded down.
            pixels = np.pad(pixels, ((0, missing[0]), (0, missing[1]), (0, 0)), mode="edge")
        return pixels

    def _keep(self, level: int, place: Place, tile: Samples | None) -> Samples | None:
        kept = _LOST if tile is None else tile
        self._kept.add((level, place), kept, kept.nbytes)
        return tile


def _middles(part: slice, cells: int) -> list[int]:
    """Return the middles of so many equal parts of a range."""
    length = part.stop - part.start
    return [part.start + (2 * cell + 1) * length // (2 * cells) for cell in range(min(cells, length))]
