"""Requests to a host about pictures and their files, and what the replies of several tasks share.

The requests and replies of one task are in `messages.py` of its folder. Pixels lie in shared memory and
are never pickled; a `SharedArray` names a segment of it. No Numba and no Qt in here.

A picture that does not fit into memory, or that another machine holds, comes to the window as a
`TiledScreen`: sizes, and no pixels. The window asks for the tiles that it shows, and for the values of the
pixels that are read (`WantedTiles`, `WantedValues`), of a picture or of the result of a job. All that a
request needs is in it: a host that took the place of another answers it too.
"""

from typing import Any, ClassVar

from engine.errors import BadValue, EngineError, ImageReadError, Reason
from engine.host.request import ComputedResult, QueuePolicy, Request, SharedArray, TaskJob, TaskRequest
from engine.image.metadata import NO_METADATA, Metadata
from engine.message import Message
from engine.results.answer import Mark, Quantity
from engine.results.measurement import AnyResult, StepTime
from engine.verify.verification import Region

TILE = 256  # sides of a tile, pixels of its level; those at the right and lower edge are smaller

WHOLE = 3
"""The detail of a tile of which all was read; those below are samples, each finer than the one before."""

Place = tuple[int, int]  # row and column of a tile among those of its level


class FilePixels(Message, frozen=True):
    """The pixels of a picture that stay in its file: their shape (H x W x C) and type, as of an array."""

    shape: tuple[int, ...]
    dtype: str
    stamp: int = 0  # another one where the file has changed


class TiledScreen(Message, frozen=True):
    """A picture, or a result, whose pixels for the screen are requested by tile.

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
    # is requested.
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

    A sample has fewer pixels than the tile, and a `detail` below WHOLE: more can be requested. A tile whose
    part of the file is damaged has no pixels.
    """

    place: Place
    pixels: SharedArray | None
    detail: int


class Tiles(Message, frozen=True):
    """The tiles that were ready when the time of a request was over; the others are requested again.

    `fault` says what is wrong with the file, where something is, and `note` what is special about it.
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


class _OfScreen(TaskRequest[Any]):
    """Base class of requests about a picture, beside a run, or about a job's result, after the run."""

    __slots__ = ()
    name: ClassVar[str]
    screen: TiledScreen

    @property
    def queue(self) -> QueuePolicy:
        """How it waits."""
        return QueuePolicy.BESIDE if self.job is None else QueuePolicy.IN_ORDER

    @property
    def answered_by(self) -> str:
        """The function of its name: of pictures in their files, or in the module that the job names."""
        return f"{getattr(self.job, 'tile_answers', 'engine.host.tile_jobs')}:{self.name}"


class WantedTiles(Message, _OfScreen, frozen=True):
    """Ask for tiles of a level, the most wanted one first."""

    screen: TiledScreen
    level: int
    tiles: tuple[Place, ...]
    detail: int = 0  # of a picture's tiles that are sampled
    job: TaskJob | None = None
    name: ClassVar[str] = "wanted_tiles"
    reply: ClassVar[object] = Tiles


class WantedValues(Message, _OfScreen, frozen=True):
    """Ask for the values of a rectangle of full size."""

    screen: TiledScreen
    rows: tuple[int, int]  # first, and past the last
    columns: tuple[int, int]
    job: TaskJob | None = None
    name: ClassVar[str] = "wanted_values"
    reply: ClassVar[object] = Values


class CloseTiled(Message, Request, frozen=True):
    """Close the file of a picture that is not shown any more."""

    screen: TiledScreen
    policy: ClassVar[QueuePolicy] = QueuePolicy.BESIDE
    handler: ClassVar[str] = "engine.host.tile_jobs:close"


class DisplayScale(Message, frozen=True):
    """How samples become levels of the screen, from 0 to 255: `scale` times the sample, and `shift`."""

    scale: float
    shift: float
    is_absolute: bool = False
    alpha: SharedArray | None = None  # H x W, straight, as the picture's
    white: float = 255.0  # its full opacity


class ScreenLevels(Message, frozen=True):
    """A picture ready to be painted: level 0 in full size, each further one half as large, halves averaged.

    Every level is H x W x 4, uint8, in the order blue, green, red, alpha (Qt's premultiplied ARGB32 on
    little-endian machines). Of a large picture level 0 is the samples themselves, and `shown` says how they
    become pixels where they are seen.
    """

    levels: tuple[SharedArray, ...]
    opaque: bool = True
    shown: DisplayScale | None = None


class PictureHandle(Message, frozen=True):
    """A picture that lies in shared memory, or one that stays in its file and is requested by tile."""

    # What another machine needs not: its pixels for our screen, and where its file is here.
    stays_here: ClassVar[dict[str, object]] = {
        "screen": ScreenLevels(()), "icc_profile": None, "path": "", "metadata": NO_METADATA,
    }  # fmt: skip
    pixels: SharedArray | FilePixels  # H x W x C in the picture's own type
    alpha: SharedArray | None  # H x W, straight; carried along and not filtered
    screen: ScreenLevels | TiledScreen
    title: str  # name of the file or sample
    description: str  # one line: name, size, colours, depth
    path: str = ""  # empty for a sample
    sample: str = ""  # its key; empty for a file
    notes: tuple[str, ...] = ()  # sentences for the user: damage, NaN, further pages
    icc_profile: bytes | None = None
    metadata: Metadata = NO_METADATA  # EXIF data and resolution, kept for saving
    crop: Region | None = None  # the part of the file's picture that it is; None: all of it

    @property
    def in_memory(self) -> SharedArray:
        """The pixels of a picture that lies in shared memory; an `EngineError` for one that does not."""
        if isinstance(self.pixels, SharedArray):
            return self.pixels
        raise BadValue(
            f"{self.title}, {self.width:,} × {self.height:,} pixels,",
            "this needs the whole picture in memory, and it stays in its file",
            "Cut out a part of it and open that.",
        )

    @property
    def dtype(self) -> str:
        """The type of its samples."""
        return self.pixels.dtype

    @property
    def height(self) -> int:
        """Rows of the picture."""
        return self.pixels.shape[0]

    @property
    def width(self) -> int:
        """Columns of the picture."""
        return self.pixels.shape[1]

    @property
    def channels(self) -> int:
        """Colour channels: 1 or 3, alpha not counted."""
        return self.pixels.shape[2]


class OpenPicture(Message, Request, frozen=True):
    """Open a picture file, or a sample by key."""

    path: str = ""
    sample: str = ""
    crop: Region | None = None  # the part that becomes the picture, as far as it lies in it; None: all of it
    handler: ClassVar[str] = "engine.host.picture_jobs:open_picture"
    reply: ClassVar[object] = PictureHandle

    def error_if_lost(self, reason: str) -> ImageReadError:
        """Return an error that names the file: decoders are libraries in C, which a file can crash."""
        what = f"{self.path or self.sample} cannot be opened"
        remedy = "save it again from the program that made it."
        if reason:
            why = f"the engine's process ended while it read it: {reason}"
            return ImageReadError(what, why, f"Your work is kept. The file may be damaged: {remedy}")
        why = "it took more than ten times as long as its size lets expect, and was given up"
        return ImageReadError(what, why, f"Copy it to a disk of this machine, or {remedy}")


class OfValues(Request):
    """Base class of requests about values: beside a run, but for those that are computed for it."""

    __slots__ = ()
    values: SharedArray | ComputedResult | None

    @property
    def queue(self) -> QueuePolicy:
        """How it waits."""
        return QueuePolicy.IN_ORDER if isinstance(self.values, ComputedResult) else QueuePolicy.BESIDE


class CropPicture(Message, Request, frozen=True):
    """Make a part of an open picture a picture of its own."""

    picture: PictureHandle
    region: Region
    handler: ClassVar[str] = "engine.host.picture_jobs:crop_picture"
    reply: ClassVar[object] = PictureHandle


class Saved(Message, frozen=True):
    """A file that was written, with a sentence for each property that its format could not keep."""

    path: str
    notes: tuple[str, ...] = ()


class SaveResult(Message, Request, frozen=True):
    """Write a result, or a picture, to a file."""

    picture: PictureHandle  # gives type, alpha and colour profile
    # A result, float32 or of the picture's type; None saves the picture itself.
    values: SharedArray | ComputedResult | None
    path: str
    range_mode: str = "clip"
    depth: str = "keep"  # or "8", "16", "float32", as `engine.image.save.save_image` takes it
    result: TiledScreen | None = None  # in place of values: a result on another machine, fetched to be saved
    metadata: bool = True  # whether EXIF data and resolution of the picture go into the file
    quality: int = 0  # 1 to 100, of a format with losses; 0: that of `save_image`
    path_field: ClassVar[str] = "path"
    handler: ClassVar[str] = "engine.host.picture_jobs:save_result"
    reply: ClassVar[object] = Saved


class Filtered(Message, frozen=True):
    """A filtered picture: its values for the cursor, levels for the screen, and of a `Run` its result.

    Of a large picture in memory the values are not kept, and full size is requested by tile. With a
    `TiledScreen` alone there are no values: of a picture that stays in its file nothing is computed before it
    is seen, of a result on another machine those tiles that were seen are here.
    """

    # H x W x C, of the type that the job asks for; None where the run failed.
    values: SharedArray | ComputedResult | None
    screen: ScreenLevels | TiledScreen | None
    variant: str  # the one that ran
    device: str
    elapsed_ms: float  # filtering and preparing for the screen, by the host's clock
    result: AnyResult | None = None
    chosen_because: Reason | None = None  # the planner's reason where "auto" was requested
    tiles: tuple[Tiles, ...] = ()  # of a `TiledScreen`, the coarsest level first
    # The parts of the values, 0 to 1, that are shown black and white because they lie outside the range that
    # is shown; 0 of a picture in parts.
    clipped: tuple[float, float] = (0.0, 0.0)
    # Of a chain. Of a preview the steps that did not change have the time that they took when they were
    # computed; on a GPU they have none.
    steps: tuple[StepTime, ...] = ()
    # The results of another operation: numbers, the counts of each channel of a histogram, a drawn frame.
    quantities: tuple[Quantity, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()
    mark: Mark | None = None


BINS = 256


class ChannelNumbers(Message, frozen=True):
    """One channel of a picture, or of a part of it."""

    counts: tuple[int, ...]  # by brightness, of all that is finite
    below: int  # samples under black, and above white
    above: int
    not_finite: int  # NaN and infinity, which no other number counts
    mean: float
    deviation: float
    least: float
    most: float

    @property
    def total(self) -> int:
        """All samples."""
        return sum(self.counts) + self.not_finite


class PictureNumbers(Message, frozen=True):
    """A picture, and its result if there is one, channel by channel.

    The ends are where the first bin begins and the last one ends: black and white of 8 bit, else the least
    and the most of the values.
    """

    before: tuple[ChannelNumbers, ...]
    before_ends: tuple[float, float] = (0.0, 255.0)
    after: tuple[ChannelNumbers, ...] = ()
    after_ends: tuple[float, float] = (0.0, 255.0)


class MeasurePicture(Message, OfValues, frozen=True):
    """Count the samples of a picture in memory and its result, or of a region."""

    picture: PictureHandle
    values: SharedArray | ComputedResult | None = None
    region: Region | None = None
    handler: ClassVar[str] = "engine.host.picture_jobs:measure_picture"
    reply: ClassVar[object] = PictureNumbers


class Windowed(Message, frozen=True):
    """What is painted, and the values that are black and white in it."""

    screen: ScreenLevels
    ends: tuple[float, float]


PERCENTILES = 0.5, 99.5  # those between which most of the values lie


class ShowWindow(Message, OfValues, frozen=True):
    """Make a picture in memory, or a result, ready for the screen between two ends."""

    picture: PictureHandle
    values: SharedArray | ComputedResult | None  # a result; None: the picture itself
    # What is black and what is white; None: the `PERCENTILES`.
    ends: tuple[float, float] | None
    handler: ClassVar[str] = "engine.host.picture_jobs:show_window"
    reply: ClassVar[object] = Windowed
