"""Arrays that are sent band by band, and those that arrive."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.host.shared_array import SharedArray
from engine.remote.codecs import Packer, unpack
from engine.remote.line import Message
from engine.remote.messages import Arrays, Band
from engine.remote.schema import NotOfTheSchema, encoded

MOST_ARRAY_BYTES = 8 << 30
"""The largest array that is sent; there must also be so much memory for it."""
_BAND_BYTES = 1 << 19

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
