"""Pictures whose pixels are asked for by tile: the messages about them. No Numba and no Qt in here.

A picture that does not fit into memory, or that another machine holds, comes to the window as a
`TiledScreen`: sizes, and no pixels. The window asks for the tiles that it shows, and for the values of the
pixels that are read (`WantedTiles`, `WantedValues`), of a picture or of the result of a job. All that a
request needs is in it: a host that took the place of another answers it too.
"""

from typing import ClassVar

from engine.errors import EngineError
from engine.host.request import Asked, QueuePolicy, Request, SharedArray
from engine.message import Message

TILE = 256
"""Sides of a tile, pixels of its level; those at the right and lower edge are smaller."""

WHOLE = 3
"""The detail of a tile of which all was read; those below are samples, each finer than the one before."""

Place = tuple[int, int]
"""Row and column of a tile among those of its level."""


class FilePixels(Message, frozen=True):
    """The pixels of a picture that stay in its file: their shape (H x W x C) and type, as of an array."""

    shape: tuple[int, ...]
    dtype: str
    stamp: int = 0  # another one where the file has changed


class TiledScreen(Message, frozen=True):
    """A picture, or a result, whose pixels for the screen are asked for by tile.

    Level 0 has the full size, each further one half as much, rounded up. Tiles of levels from `sampled_from`
    on take long to read: the first answers for one are samples of it, each finer than the one before.
    """

    key: str  # of the picture, for its host: a path, or what else it knows the picture by
    levels: tuple[tuple[int, int], ...]  # rows and columns
    tile: int = TILE
    opaque: bool = True
    sampled_from: int = 99
    note: str = ""  # a sentence for the person on how the pixels come about
    is_kept: bool = False  # it is a result that another machine keeps, and answers for
    # Levels from the second on that are here as a whole, as those of `ScreenLevels`: then only the full size
    # is asked for.
    coarse: tuple[SharedArray, ...] = ()

    def places(self, level: int) -> tuple[int, int]:
        """Return how many tiles a level has, one below the other and side by side."""
        rows, columns = self.levels[level]
        return -(-rows // self.tile), -(-columns // self.tile)

    def extent(self, level: int, place: Place) -> tuple[slice, slice]:
        """Return the rows and columns of a level that a tile covers."""
        rows, columns = self.levels[level]
        top, left = place[0] * self.tile, place[1] * self.tile
        return slice(top, min(top + self.tile, rows)), slice(left, min(left + self.tile, columns))


class Tile(Message, frozen=True):
    """The pixels of a tile, blue, green, red, alpha as those of `ScreenLevels`.

    A sample has fewer pixels than the tile, and a `detail` below WHOLE: more can be asked for. A tile whose
    part of the file is damaged has no pixels.
    """

    place: Place
    pixels: SharedArray | None
    detail: int


class Tiles(Message, frozen=True):
    """The tiles that were ready when the time of a request was over; the others are asked for again.

    `fault` says what is wrong with the file, where something is, and `note` what was found special about it.
    """

    level: int
    tiles: tuple[Tile, ...]
    fault: EngineError | None = None
    note: str = ""


class Values(Message, frozen=True):
    """The values of a rectangle of full size, H x W x C, in the type of the picture or of the result."""

    top: int
    left: int
    values: SharedArray


class _OfScreen(Request):
    """Base class of what is asked of a picture, beside a run, or of a job's result, after the run."""

    __slots__ = ()
    name: ClassVar[str]
    screen: TiledScreen
    job: Asked | None

    @property
    def queue(self) -> QueuePolicy:
        """How it waits."""
        return QueuePolicy.BESIDE if self.job is None else QueuePolicy.IN_ORDER

    @property
    def kind(self) -> tuple[type, ...]:
        """Its class and what it is asked of, which the job may say."""
        return type(self), getattr(self.job, "kind", type(self.job))

    @property
    def answered_by(self) -> str:
        """The function of its name: of pictures in their files, or in the module that the job names."""
        return f"{getattr(self.job, 'tile_answers', 'engine.host.tile_jobs')}:{self.name}"


class WantedTiles(Message, _OfScreen, frozen=True):
    """Ask for tiles of a level, the most wanted one first. Reply: Tiles."""

    screen: TiledScreen
    level: int
    tiles: tuple[Place, ...]
    detail: int = 0  # of a picture's tiles that are sampled
    job: Asked | None = None
    name: ClassVar[str] = "wanted_tiles"


class WantedValues(Message, _OfScreen, frozen=True):
    """Ask for the values of a rectangle of full size. Reply: Values."""

    screen: TiledScreen
    rows: tuple[int, int]  # first, and past the last
    columns: tuple[int, int]
    job: Asked | None = None
    name: ClassVar[str] = "wanted_values"


class CloseTiled(Message, Request, frozen=True):
    """Close the file of a picture that is not shown any more. Reply: None."""

    screen: TiledScreen
    policy: ClassVar[QueuePolicy] = QueuePolicy.BESIDE
    handler: ClassVar[str] = "engine.host.tile_jobs:close"
