"""Pixels packed for the line where that is faster than the line itself, by measured rates.

Packed are the differences between neighbouring pixels, sorted by channel and byte, with Zstandard's fastest
level. Beside it were measured on photos of 8 and 16 bit and float32, their blurs and edges: LZ4 (a third
larger), QOI (8 bit alone; larger), JPEG-LS (a tenth of the speed), and JPEG XL of least effort (a fifth
smaller in 8 bit, 80 MB/s to unpack, nothing for float32).
"""

import sys
import time
from importlib import import_module
from types import ModuleType

import numpy as np

from engine.remote.schema import NotOfTheSchema

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
