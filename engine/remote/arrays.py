"""Arrays that are sent band by band, and those that arrive."""

import hashlib
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from engine.errors import EngineError
from engine.host import shared
from engine.host.request import SharedArray, ToHost
from engine.remote.line import WHOLE, Line, Message
from engine.remote.schema import Arrays, Band, Crossing, NotOfTheSchema, encoded, name_there
from engine.results.problem import Progress

RAW, PACKED = "raw", "zstd"
# Of the screen's blue, green, red, alpha only the first, where it says all: a picture without colours.
GREY = "grey"
_LEVEL = 1
_ALPHA, _BLUE = np.uint32(0xFF000000), np.uint32(0xFF)
# How much a measurement counts against all before it.
_NEWEST = 0.3


class Packer:
    """Packs bands of pixels, and remembers how fast and how small that was. Called on: one thread."""

    def __init__(self) -> None:
        # Bytes per second to pack and unpack, and the part that is left; before anything was measured.
        self._rate, self._share = 250e6, 0.5
        self._since = 0

    def packed(self, band: np.ndarray, line_rate: float) -> tuple[str, memoryview | bytes]:
        """Return how a band, contiguous and of rows x columns x channels or less, is packed, and its bytes.

        `line_rate` is how many bytes the line takes in a second.
        """
        self._since += 1
        if self._is_faster(line_rate) or (self._since % 64 == 0 and line_rate < 400e6):
            begin = time.perf_counter()
            data = _pack(band)
            seconds = time.perf_counter() - begin
            self._rate += _NEWEST * (band.nbytes / max(seconds, 1e-6) / 2 - self._rate)
            self._share += _NEWEST * (len(data) / band.nbytes - self._share)
            if len(data) < band.nbytes:
                return PACKED, data
        if band.dtype == np.uint8 and band.ndim == 3 and band.shape[2] == 4 and sys.byteorder == "little":
            blue = _grey_of(band)
            if blue is not None:
                return GREY, blue
        return RAW, band.data.cast("B")

    def seconds(self, nbytes: int, line_rate: float) -> float:
        """Return how long so many bytes of pixels take over a line."""
        plain = nbytes / line_rate
        return min(plain, self._packed_s(nbytes, line_rate))

    def _is_faster(self, line_rate: float) -> bool:
        return self._packed_s(1, line_rate) < 1 / line_rate

    def _packed_s(self, nbytes: int, line_rate: float) -> float:
        return nbytes / self._rate + nbytes * self._share / line_rate


def unpack(codec: str, data: memoryview, out: np.ndarray) -> None:
    """Fill a band from its bytes. Raises NotOfTheSchema: they are no such band."""
    if codec == RAW and len(data) == out.nbytes:
        # No view of the array's own type may be out of line; bytes are.
        out.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
        return
    if codec == GREY and out.dtype == np.uint8 and len(data) * 4 == out.nbytes:
        blue = np.frombuffer(data, np.uint8).astype(np.uint32)
        out.reshape(-1).view(np.uint32)[:] = _as_grey(blue)
        return
    if codec != PACKED:
        raise NotOfTheSchema(
            "Pixels were refused", f"{len(data):,} bytes of {codec[:20]!r} for {out.nbytes:,}"
        )
    try:
        plain = _library().zstd_decode(bytes(data), out=out.nbytes)
    except Exception as error:
        raise NotOfTheSchema("Pixels were refused", " ".join(str(error).split())[:200]) from error
    if len(plain) != out.nbytes:
        raise NotOfTheSchema("Pixels were refused", f"{len(plain):,} of {out.nbytes:,} bytes")
    whole, planes = _as_integers(out), _planes(out)
    bytes_of = np.frombuffer(plain, np.uint8).reshape(planes, -1)
    differences = np.ascontiguousarray(bytes_of.T).view(whole.dtype).reshape(whole.shape)
    np.add.accumulate(differences, axis=1, dtype=whole.dtype, out=whole)


def _grey_of(band: np.ndarray) -> memoryview | None:
    """Return the blue of pixels that are opaque and grey, at memory's speed; None where they are not."""
    pixels = band.reshape(-1).view(np.uint32)
    # Most pictures with colours have one at once.
    for part in (pixels[:64], pixels):
        blue = part & _BLUE
        if not np.array_equal(_as_grey(blue), part):
            return None
    return blue.astype(np.uint8).data


def _as_grey(blue: np.ndarray) -> np.ndarray:
    grey: np.ndarray = blue | blue << 8 | blue << 16 | _ALPHA
    return grey


def _library() -> ModuleType:
    # 70 ms to import; a line that is fast never needs it.
    return import_module("imagecodecs")


def _pack(band: np.ndarray) -> bytes:
    whole = _as_integers(band)
    differences = np.empty_like(whole)
    differences[:, :1] = whole[:, :1]
    np.subtract(whole[:, 1:], whole[:, :-1], out=differences[:, 1:])
    by_plane = np.ascontiguousarray(differences.reshape(-1).view(np.uint8).reshape(-1, _planes(band)).T)
    return bytes(_library().zstd_encode(by_plane, level=_LEVEL))


def _as_integers(band: np.ndarray) -> np.ndarray:
    """Return a contiguous band as rows x columns x channels of unsigned integers of its size."""
    kind = f"u{band.dtype.itemsize}"
    shape = band.shape if band.ndim == 3 else (band.shape[0], -1, 1)
    return band.reshape(shape).view(kind)


def _planes(band: np.ndarray) -> int:
    return band.dtype.itemsize * (band.shape[2] if band.ndim == 3 else 1)


MOST_ARRAY_BYTES = 8 << 30
"""The largest array that is sent; there must also be so much memory for it."""
# What is urgent waits for one of these.
_BAND_BYTES = 1 << 17

Array = np.ndarray


def sent_bands(
    key: str, arrays: Sequence[Array], packer: Packer, rate: Callable[[], float], request: int = 0
) -> Iterator[Message]:
    """Yield the messages that bring arrays over; each band is packed when the line takes it."""
    forms = tuple((tuple(array.shape), array.dtype.name) for array in arrays)
    yield encoded(Arrays(key, forms, request)), b""
    for number, array in enumerate(arrays):
        step = max(1, _BAND_BYTES // max(1, array[:1].nbytes))
        for first in range(0, len(array) if array.size else 0, step):
            band = np.ascontiguousarray(array[first : first + step])
            codec, data = packer.packed(band, rate())
            yield encoded(Band(key, number, first, len(band), codec)), data


class Arriving:
    """Arrays that are under way to this side. Called on: the thread that reads the line.

    `make` returns memory for the forms of a message, or None where they are not wanted any more; `come` is
    called with the key and the arrays where nothing more of them is to come.
    """

    def __init__(
        self,
        make: Callable[[Arrays], tuple[tuple[SharedArray, ...], list[Array]] | None],
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
        made = self._make(message)
        if made is None:
            self._unwanted[message.key] = None
            while len(self._unwanted) > 64:
                del self._unwanted[next(iter(self._unwanted))]
            return
        left = [array.shape[0] if array.size else 0 for array in made[1]]
        self._open[message.key] = message, *made, left
        self._end(message.key)

    def take(self, band: Band, beside: memoryview) -> None:
        """Fill a band."""
        if band.key in self._unwanted:
            return
        if band.key not in self._open:
            raise NotOfTheSchema("Pixels were refused", "they belong to nothing")
        _, _, arrays, left = self._open[band.key]
        if band.array >= len(arrays):
            raise NotOfTheSchema("Pixels were refused", f"there is no array {band.array}")
        array, rest = arrays[band.array], left[band.array]
        # Rows come in their order.
        if band.rows > rest or band.first != len(array) - rest:
            raise NotOfTheSchema("Pixels were refused", f"rows {band.first} to {band.first + band.rows}")
        unpack(band.codec, beside, array[band.first : band.first + band.rows])
        left[band.array] -= band.rows
        self._end(band.key)

    def request_of(self, key: str) -> int:
        """Return the request that arrays under way answer; 0 for none."""
        return self._open[key][0].request if key in self._open else 0

    def give_up(self, request: int) -> list[SharedArray]:
        """Forget arrays of a request that were not complete; return them."""
        keys = [key for key, (message, *_) in self._open.items() if message.request == request]
        dropped = [array for key in keys for array in self._open.pop(key)[1]]
        self._unwanted.update(dict.fromkeys(keys))
        return dropped

    def _end(self, key: str) -> None:
        if not any(self._open[key][3]):
            self._come(key, self._open.pop(key)[1])


WAITING = Progress("waiting for the server", 0.0, 2.0)


class Uploads:
    """Pictures and files that requests name; `report` hears what requests without an own step wait for."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        # By digest: arrays or files.
        self._digests: dict[SharedArray, str] = {}
        self._sources: dict[str, SharedArray | str] = {}
        self._crossing = Crossing(self._digest_of, self._digest_of_file)
        self._packer = Packer()

    def encoded(self, message: ToHost) -> bytes:
        """Return a request as it crosses, with digests for what it names."""
        return encoded(message, self._crossing)

    def send(self, key: str, line: Line) -> None:
        """Send what the server asks for, as it has not got it."""
        line.transfer(self._bands(key, line), WHOLE)

    def forget(self, names: tuple[str, ...]) -> None:
        """Forget arrays in segments of these names, which hold others from now on."""
        with self._lock:
            for array in [array for array in self._digests if array.name in names]:
                self._sources.pop(self._digests.pop(array), None)

    def _bands(self, key: str, line: Line) -> Iterator[Message]:
        """Yield the bands of a picture; say now and then how long it will take."""
        source = self._sources.get(key)
        if source is None:
            return
        pixels = np.fromfile(source, np.uint8) if isinstance(source, str) else shared.attach(source)
        begin = time.monotonic()
        for message in sent_bands(key, [pixels], self._packer, lambda: line.rate):
            yield message
            left_s = self._packer.seconds(pixels.nbytes, line.rate) - (time.monotonic() - begin)
            self._report(Progress("sending the picture", 0.0, max(left_s, 1.0)))
        self._report(WAITING)

    def _digest_of(self, array: SharedArray) -> SharedArray:
        with self._lock:
            key = self._digests.get(array)
        if key is None:
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
        with self._lock:
            self._sources[key] = path
        return f"{key}/{name_there(Path(path).name)}"
