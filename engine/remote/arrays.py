"""Arrays that are sent band by band, and those that arrive; what is sent of pictures, files and results.

Pictures and files here that requests to a server name cross once, by their digests. Results stay on the
server: what is seen of them is sent, the rest when it is requested.
"""

import hashlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from engine.errors import EngineError, NotOfTheSchema, ResultGone
from engine.host import protocol, shared
from engine.host.protocol import TILE, Filtered, Place, ScreenLevels, Tile, TiledScreen, Tiles, Values
from engine.host.request import Seen, SharedArray
from engine.image.convert import pixels_of
from engine.process import KeptValues
from engine.remote.beside import Crossing, name_there
from engine.remote.coding import encoded
from engine.remote.line import Line, Message
from engine.remote.schema import ArrayRows, Arrays
from engine.results.problem import Progress

RAW, PACKED = "raw", "zstd"
_LEVEL = 1
# Bytes per second to pack and unpack, and the part of most pictures that is left: a faster line takes less
# time for pixels as they are.
_RATE, _SHARE = 250e6, 0.5


def sending_s(nbytes: int, line_rate: float) -> float:
    """Return how long so many bytes of pixels take over a line that takes so many bytes in a second."""
    return min(nbytes / line_rate, nbytes / _RATE + nbytes * _SHARE / line_rate)


def packed(band: np.ndarray, line_rate: float) -> tuple[str, memoryview | bytes]:
    """Return how a band, contiguous and of rows x columns x channels or less, is packed, and its bytes."""
    if sending_s(1, line_rate) < 1 / line_rate and len(data := _pack(band)) < band.nbytes:
        return PACKED, data
    return RAW, band.data.cast("B")


def unpack(codec: str, data: memoryview, out: np.ndarray) -> None:
    """Fill a band from its bytes. Raises NotOfTheSchema: they are no such band."""
    if codec == RAW and len(data) == out.nbytes:
        # No view of the array's own type may be out of line; bytes are.
        out.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
        return
    why = f"{len(data):,} bytes of {codec[:20]!r} for {out.nbytes:,}"
    if codec != PACKED:
        raise NotOfTheSchema("Pixels were refused", why)
    # 70 ms to import; a line that is fast never needs it.
    library = import_module("imagecodecs")
    try:
        plain = library.zstd_decode(bytes(data), out=out.nbytes)
    except Exception as error:
        raise NotOfTheSchema("Pixels were refused", " ".join(str(error).split())[:200]) from error
    if len(plain) != out.nbytes:
        raise NotOfTheSchema("Pixels were refused", why)
    whole, planes = _as_integers(out), _planes(out)
    bytes_of = np.frombuffer(plain, np.uint8).reshape(planes, -1)
    differences = np.ascontiguousarray(bytes_of.T).view(whole.dtype).reshape(whole.shape)
    # 0.1 ms for a band; NumPy adds up along this axis in 0.9.
    library.delta_decode(differences, axis=1, out=whole)


def _pack(band: np.ndarray) -> bytes:
    whole = _as_integers(band)
    differences = np.empty_like(whole)
    differences[:, :1] = whole[:, :1]
    np.subtract(whole[:, 1:], whole[:, :-1], out=differences[:, 1:])
    by_plane = np.ascontiguousarray(differences.reshape(-1).view(np.uint8).reshape(-1, _planes(band)).T)
    return bytes(import_module("imagecodecs").zstd_encode(by_plane, level=_LEVEL))


def _as_integers(band: np.ndarray) -> np.ndarray:
    """Return a contiguous band as rows x columns x channels of unsigned integers of its size."""
    kind = f"u{band.dtype.itemsize}"
    shape = band.shape if band.ndim == 3 else (band.shape[0], -1, 1)
    return band.reshape(shape).view(kind)


def _planes(band: np.ndarray) -> int:
    return band.dtype.itemsize * (band.shape[2] if band.ndim == 3 else 1)


MOST_ARRAY_BYTES = 8 << 30  # the largest array that is sent; there must also be so much memory for it
_BAND_BYTES = 1 << 17  # what is urgent waits for one of these

Array = np.ndarray


def sent_bands(
    key: str, arrays: Sequence[Array], rate: Callable[[], float], request: int = 0
) -> Iterator[Message]:
    """Yield the messages that bring arrays over; each band is packed when the line takes it."""
    forms = tuple((tuple(array.shape), array.dtype.name) for array in arrays)
    yield encoded(Arrays(key, forms, request)), b""
    for number, array in enumerate(arrays):
        step = max(1, _BAND_BYTES // max(1, array[:1].nbytes))
        for first in range(0, len(array) if array.size else 0, step):
            band = np.ascontiguousarray(array[first : first + step])
            codec, data = packed(band, rate())
            yield encoded(ArrayRows(key, number, first, len(band), codec)), data


class Arriving:
    """Arrays that are under way to this side. Called on: the thread that reads the line.

    `make` returns memory for the forms of a message, or None where they are not wanted any more; `come` is
    called with the key and the arrays where nothing more of them is to come.
    """

    def __init__(
        self,
        make: Callable[[Arrays], tuple[SharedArray, ...] | None],
        come: Callable[[str, tuple[SharedArray, ...]], None],
    ) -> None:
        self._make, self._come = make, come
        self._open: dict[str, tuple[Arrays, tuple[SharedArray, ...], list[Array], list[int]]] = {}
        self._unwanted: dict[str, None] = {}

    def begin(self, message: Arrays) -> None:
        """Make memory."""
        if message.key in self._open:
            raise NotOfTheSchema("Pixels were refused", "they come twice at once")
        for shape, dtype in message.forms:
            if math.prod(max(side, 1) for side in shape) * np.dtype(dtype).itemsize > MOST_ARRAY_BYTES:
                raise NotOfTheSchema("Pixels were refused", f"an array of {str(shape)[:60]} {dtype}")
        arrays = self._make(message)
        if arrays is None:
            self._unwanted[message.key] = None
            while len(self._unwanted) > 64:
                del self._unwanted[next(iter(self._unwanted))]
            return
        views = [shared.attach(array) for array in arrays]
        left = [len(view) if view.size else 0 for view in views]
        self._open[message.key] = message, arrays, views, left
        self._end(message.key)

    def take(self, band: ArrayRows, beside: memoryview) -> int:
        """Fill a band; return the request that it answers, 0 for none."""
        if band.key in self._unwanted:
            return 0
        if band.key not in self._open:
            raise NotOfTheSchema("Pixels were refused", "they belong to nothing")
        message, _, arrays, left = self._open[band.key]
        if band.array >= len(arrays):
            raise NotOfTheSchema("Pixels were refused", f"there is no array {band.array}")
        array, rest = arrays[band.array], left[band.array]
        # Rows come in their order.
        if band.rows > rest or band.first != len(array) - rest:
            raise NotOfTheSchema("Pixels were refused", f"rows {band.first} to {band.first + band.rows}")
        unpack(band.codec, beside, array[band.first : band.first + band.rows])
        left[band.array] -= band.rows
        self._end(band.key)
        return message.request

    def give_up(self, request: int) -> list[SharedArray]:
        """Forget arrays of a request that were not complete; return them."""
        keys = [key for key, (message, *_) in self._open.items() if message.request == request]
        dropped = [array for key in keys for array in self._open.pop(key)[1]]
        self._unwanted.update(dict.fromkeys(keys))
        return dropped

    def _end(self, key: str) -> None:
        if not any(self._open[key][3]):
            self._come(key, self._open.pop(key)[1])


_WAITING = Progress("waiting for the server", 0.0, 2.0)


class Uploads:
    """Pictures and files that requests name; `step` is what requests without an own step wait for."""

    def __init__(self) -> None:
        self.step = _WAITING
        self._lock = threading.Lock()
        # By digest: arrays or files.
        self._digests: dict[SharedArray, str] = {}
        self._sources: dict[str, SharedArray | str] = {}
        # Has digests for what a request names.
        self.crossing = Crossing(self._digest_of, self._digest_of_file)

    def forget(self, names: tuple[str, ...]) -> None:
        """Forget arrays in segments of these names, which hold others from now on."""
        with self._lock:
            for array in [array for array in self._digests if array.name in names]:
                self._sources.pop(self._digests.pop(array), None)

    def bands(self, key: str, line: Line) -> Iterator[Message]:
        """Yield the bands of what the server has not got; say now and then how long it will take."""
        source = self._sources.get(key)
        if source is None:
            return
        pixels = np.fromfile(source, np.uint8) if isinstance(source, str) else shared.attach(source)
        begin = time.monotonic()
        for message in sent_bands(key, [pixels], lambda: line.rate):
            yield message
            left_s = sending_s(pixels.nbytes, line.rate) - (time.monotonic() - begin)
            self.step = Progress("sending the picture", 0.0, max(left_s, 1.0))
        self.step = _WAITING

    def _digest_of(self, array: SharedArray) -> SharedArray:
        if (key := self._digests.get(array)) is None:
            digest = hashlib.blake2b(f"{array.shape} {array.dtype}".encode(), digest_size=16)
            digest.update(shared.attach(array).data.cast("B"))
            key = digest.hexdigest()
        with self._lock:
            self._digests[array] = key
            self._sources[key] = array
        return SharedArray(key, (), "")

    def _digest_of_file(self, path: str) -> str:
        try:
            key = hashlib.blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()
        except OSError as error:
            why = error.strerror or str(error)
            raise EngineError(f"{path} cannot be read", why, "Choose another file.") from error
        self._sources[key] = path
        return f"{key}/{name_there(Path(path).name)}"


PATIENCE_S = 0.15
"""What takes longer over the line is sent at a coarser level first, and dropped where a newer one waits."""
# What the window shows, of the last run and the last preview, and the one that is coming. More would keep the
# host from writing where it has written before, which is twice as fast (`engine.host.shared`).
MOST_RESULTS = 3


class KeptArrays:
    """The newest results, by the key of the screen that their answers have in place of pixels.

    `views` of an answer are what it sends of the pixels: arrays by the names that it has for them.
    """

    def __init__(self, most_bytes: int) -> None:
        self._kept: KeptValues[str, tuple[SharedArray, ScreenLevels]] = KeptValues(most_bytes, MOST_RESULTS)
        self._numbers = count(1)

    def keep(
        self, value: Any, seen: Seen, in_use: frozenset[str], line_rate: float
    ) -> tuple[Any, str, dict[str, Array], tuple[object, ...]] | None:
        """Keep an answer's pixels; return it with what is seen, key, views, what went; None: no pixels."""
        # Itself, or what an operation shows.
        filtered = value if isinstance(value, Filtered) else getattr(value, "shown", None)
        match filtered:
            case Filtered(values=SharedArray() as values, screen=ScreenLevels(levels=levels) as shown):
                pass
            case _:
                return None
        key, views = f"result-{next(self._numbers)}", dict[str, Array]()
        screen = TiledScreen(key, _sides(levels), opaque=shown.opaque, is_kept=True)
        size = sum(shared.attach(array).nbytes for array in {values, *levels})
        gone = self._kept.add(key, (values, shown), size, in_use)
        # The finest level that is one tile; then what is seen, at a coarser level where the line is slow.
        whole = next((n for n, sides in enumerate(screen.levels) if max(sides) <= TILE), len(levels) - 1)
        level, places = min(max(seen.level, 0), whole), places_in(screen, seen, seen.level)
        while level < whole and sending_s(4 * len(places) * screen.tile**2, line_rate) > PATIENCE_S:
            level += 1
            places = places_in(screen, seen, level)
        parts = [(whole, ((0, 0),))] if level != whole else []
        tiles = tuple(_tiles(shown, screen, n, at, views) for n, at in (*parts, (level, places)))
        kept = replace(filtered, values=None, screen=screen, tiles=tiles)
        return (kept if value is filtered else replace(value, shown=kept)), key, views, tuple(gone)

    def answer(
        self, request: protocol.WantedTiles | protocol.WantedValues
    ) -> tuple[Tiles | Values, dict[str, Array]]:
        """Return a part of a result, and its views. Raises ResultGone: it is not kept any more."""
        kept = self._kept.get(request.screen.key)
        if kept is None:
            why = "results stay on the server, which keeps the newest"
            raise ResultGone("This result is not there any more", why, "Compute it again.")
        (values, shown), views = kept, dict[str, Array]()
        if isinstance(request, protocol.WantedValues):
            part = shared.attach(values)[slice(*request.rows), slice(*request.columns)]
            array = SharedArray("values", part.shape, part.dtype.name)
            return Values(request.rows[0], request.columns[0], array), {"values": part}
        screen = TiledScreen(request.screen.key, _sides(shown.levels))
        rows, columns = screen.places(request.level) if 0 <= request.level < len(screen.levels) else (0, 0)
        if not all(0 <= row < rows and 0 <= column < columns for row, column in request.tiles):
            raise NotOfTheSchema("The line", "a tile that is not of the result")
        return _tiles(shown, screen, request.level, request.tiles, views), views


def _tiles(
    levels: ScreenLevels, screen: TiledScreen, level: int, places: tuple[Place, ...], views: dict[str, Array]
) -> Tiles:
    pixels, tiles = shared.attach(levels.levels[level]), list[Tile]()
    for place in places:
        at = screen.extent(level, place)
        part, shown = pixels[at], levels.shown
        if shown is not None and not level:
            alpha = None if shown.alpha is None else shared.attach(shown.alpha)[at]
            part = pixels_of(part, shown.scale, shown.shift, shown.is_absolute, alpha, shown.white)
        name = f"view-{len(views)}"
        views[name] = part
        tiles.append(Tile(place, SharedArray(name, part.shape, part.dtype.name), protocol.WHOLE))
    return Tiles(level, tuple(tiles))


def places_in(screen: TiledScreen, seen: Seen, level: int) -> tuple[Place, ...]:
    """Return the tiles of a level that cover what is seen of another one."""
    level = min(max(level, 0), len(screen.levels) - 1)
    step = screen.tile * 2 ** (level - min(max(seen.level, 0), len(screen.levels) - 1))
    last = [side - 1 for side in screen.places(level)]
    spans = [
        range(min(max(int(begin // step), 0), most), min(max(int(-(-end // step)) - 1, 0), most) + 1)
        for (begin, end), most in zip((seen.rows, seen.columns), last, strict=True)
    ]
    return tuple((row, column) for row in spans[0] for column in spans[1])


def _sides(levels: tuple[SharedArray, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((level.shape[0], level.shape[1]) for level in levels)
