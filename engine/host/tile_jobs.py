"""What the host does for large pictures: it keeps them open, answers for tiles and values. On any thread."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from engine.errors import EngineError, ImageReadError
from engine.host import protocol, shared
from engine.host.halved_tiles import CACHE_BYTES, HalvedTiles, Samples, TimeIsOver
from engine.host.protocol import WHOLE, PictureHandle, Place, TiledScreen, Tiles, Values
from engine.host.shared_picture import (
    MAKE_SMALLER,
    all_nan_words,
    attached,
    in_shared_memory,
    render,
    screen_arrays,
)
from engine.image.convert import DEPTH_TEXTS, full_scale_of
from engine.image.large.opening import DecodedPicture, kind_of, open_large
from engine.image.open import value_notes
from engine.results.problem import Checkpoint

SLICE_S = 0.15  # a request is answered after this long with what is ready, s
_MOST_OPEN = 2  # the picture that is shown, and the one that is about to be
_CHUNK_CACHE_BYTES = 16 << 20  # what a decoder may keep of chunks, bytes

# Arrays that take no more than this, with their levels for the screen, become pictures in memory.
_IN_MEMORY_BYTES = 256 << 20

TILES_BYTES = CACHE_BYTES + _CHUNK_CACHE_BYTES  # what is kept of a picture in parts, bytes

_DECODED = "decoded:"  # how the keys of pictures begin that are decoded as a whole


_open: OrderedDict[str, HalvedTiles] = OrderedDict()
_lock = threading.Lock()


def opened(key: str) -> HalvedTiles:
    """Return the tiles of a picture, which is opened if it is not open."""
    with _lock:
        if key in _open:
            _open.move_to_end(key)
            return _open[key]
        if key.startswith(_DECODED):
            _open[key] = HalvedTiles(DecodedPicture(Path(key.removeprefix(_DECODED)), MAKE_SMALLER))
        else:
            _open[key] = HalvedTiles(open_large(Path(key)))
            _open[key].picture.cache_bytes = _CHUNK_CACHE_BYTES
        while len(_open) > _MOST_OPEN:
            _open.popitem(last=False)[1].picture.close()
        return _open[key]


def close(request: protocol.CloseTiled, report: Checkpoint) -> None:
    """Close a picture."""
    _close(request.screen.key)


def _close(key: str) -> None:
    with _lock:
        tiles = _open.pop(key, None)
    if tiles is not None:
        tiles.picture.close()


def open_in_parts(path: Path, refusal: EngineError, *, is_too_large: bool) -> PictureHandle:
    """Open a Zarr folder, an .npy or a too large TIFF, in memory where small; raise others' refusal."""
    kind = kind_of(path)
    if not kind or (kind == "tiff" and not is_too_large):
        raise refusal
    handle = opened_anew(path)
    picture = opened(key := str(path.resolve())).picture
    levels = screen_arrays(picture.height, picture.width)
    shapes = [((picture.height, picture.width, picture.channels), picture.dtype.name), *levels]
    if sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in shapes) > _IN_MEMORY_BYTES:
        return handle
    samples = picture.read(0, slice(0, picture.height), slice(0, picture.width))
    seen = samples[..., : handle.channels]
    pixels, alpha, screen = in_shared_memory(seen, samples[..., -1] if picture.has_alpha else None)
    _close(key)
    words = handle.description + all_nan_words(seen)
    notes = (*picture.notes, *value_notes(seen))
    return replace(handle, pixels=pixels, alpha=alpha, screen=screen, description=words, notes=notes)


def opened_anew(path: Path, *, is_decoded: bool = False) -> PictureHandle:
    """Open a picture in its file, which may be another one than before; or one that is decoded as a whole."""
    key = f"{_DECODED * is_decoded}{path.resolve()}"
    _close(key)
    tiles = opened(key)
    picture = tiles.picture
    colours = picture.channels - picture.has_alpha
    words = {1: "grey", 3: "RGB"}.get(colours, f"{colours} channels")
    words += " with alpha" if picture.has_alpha else ""
    size = f"{picture.width:,} × {picture.height:,}"
    return PictureHandle(
        pixels=protocol.FilePixels(
            (picture.height, picture.width, colours), picture.dtype.name, path.stat().st_mtime_ns
        ),
        alpha=None,
        screen=TiledScreen(key, tiles.levels, opaque=not picture.has_alpha, sampled_from=tiles.sampled_from),
        title=path.name,
        description=f"{path.name}  {size}  {words}  {DEPTH_TEXTS[picture.dtype]}, {picture.format}",
        path=key.removeprefix(_DECODED),
        notes=picture.notes,
        icc_profile=picture.icc_profile,
        metadata=picture.metadata,
    )


class InMemory:
    """A picture in shared memory, read as `HalvedTiles` is: full size alone."""

    note = ""
    fault: ImageReadError | None = None

    def __init__(self, picture: PictureHandle) -> None:
        self._pixels, self._alpha = shared.attach(picture.in_memory), attached(picture.alpha)
        self.levels = ((picture.height, picture.width),)
        self.extent = TiledScreen("", self.levels).extent

    def rectangle(self, level: int, rows: slice, columns: slice, ends_at: float) -> Samples:
        """Return the pixels of a rectangle, the opacity as their last channel; whole rows without a copy."""
        pixels = self._pixels[rows, columns]
        return pixels if self._alpha is None else np.dstack([pixels, self._alpha[rows, columns]])


Source = HalvedTiles | InMemory


def source_of(picture: PictureHandle) -> Source:
    """Return where the pixels of a picture are read."""
    return opened(picture.screen.key) if isinstance(picture.screen, TiledScreen) else InMemory(picture)


def wanted_tiles(request: protocol.WantedTiles, report: Checkpoint) -> Tiles:
    """Return the tiles of a picture that are ready in time."""
    tiles, level = opened(request.screen.key), request.level
    detail = request.detail if level >= tiles.sampled_from else WHOLE
    if tiles.has_strips and detail:
        # Finer samples would decode the same strips again and again.
        detail = WHOLE

    def tile(place: Place, ends_at: float) -> Samples | None:
        if detail < WHOLE:
            return tiles.sampled(level, place, detail, len(request.tiles))
        return tiles.whole(level, place, ends_at)

    return answered(request.screen, level, request.tiles, tile, tiles, detail=detail)


def answered(
    screen: TiledScreen,
    level: int,
    places: tuple[Place, ...],
    made: Callable[[Place, float], Samples | None],
    source: Source,
    *,
    detail: int = WHOLE,
    white: float | None = None,
    range_mode: str = "clip",
    ends: tuple[float, float] | None = None,
) -> Tiles:
    """Return the tiles made in time, for the screen; the last channel is opacity where that is not opaque."""
    ends_at, ready = time.monotonic() + SLICE_S, []
    for place in places:
        try:
            ready.append((place, made(place, ends_at)))
        except TimeIsOver:
            break
        if time.monotonic() > ends_at:
            break
    shown = [(place, samples) for place, samples in ready if samples is not None]
    arrays = shared.create(*(((*samples.shape[:2], 4), "uint8") for _, samples in shown)) if shown else ()
    for (_, samples), array in zip(shown, arrays, strict=True):
        alpha = None
        if not screen.opaque:
            samples, alpha = np.ascontiguousarray(samples[..., :-1]), samples[..., -1]
        scale = full_scale_of(samples.dtype) if white is None else white
        render(samples, [shared.attach(array)], scale, range_mode, alpha, ends)
    pixels = {place: array for (place, _), array in zip(shown, arrays, strict=True)}
    tiles = tuple(protocol.Tile(place, pixels.get(place), detail) for place, _ in ready)
    return Tiles(level, tiles, source.fault, source.note)


def wanted_values(request: protocol.WantedValues, report: Checkpoint) -> Values:
    """Return the values of a few pixels, without their opacity."""
    picture = opened(request.screen.key).picture
    pixels = picture.read(0, slice(*request.rows), slice(*request.columns))
    return as_values(request.rows[0], request.columns[0], pixels[..., : picture.channels - picture.has_alpha])


def as_values(top: int, left: int, values: Samples) -> Values:
    """Return values in shared memory."""
    (array,) = shared.create((values.shape, values.dtype.name))
    shared.attach(array)[...] = values
    return Values(top, left, array)
