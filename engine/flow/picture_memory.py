"""Memory of the pictures under way: bounded, and used again, as fresh memory costs a page fault every 4 KB.

Of 12 megapixels the picture and its result have 18,000 pages: 30 to 150 ms.
"""

import math
import threading

import numpy as np
from numpy.typing import DTypeLike, NDArray

from engine.device.anti_aliasing import PAGE_BYTES, placed_result
from engine.device.spares import Spares
from engine.image.form import Form

Buffer = NDArray[np.uint8]

MOST_KEPT_BYTES = 1 << 30
"""What is kept for the next pictures."""


class PictureMemory:
    """Lends arrays to pictures, in buffers that are kept for the next ones. Called on: any thread.

    Pictures wait while others take more than `most_bytes` together, but a single one has whatever it needs.
    Buffers of at most `most_kept_bytes` are kept.
    """

    def __init__(self, most_bytes: int | None, most_kept_bytes: int) -> None:
        self._most_bytes, self._most_kept_bytes = most_bytes, most_kept_bytes
        self._lent_bytes = 0
        self._spares: Spares[Buffer] = Spares(lambda buffer: buffer.nbytes)
        self._changed = threading.Condition()

    def take(self, size: int) -> Buffer:
        """Return a buffer of at least so many bytes."""
        buffer = self._spares.take(size)
        return np.empty(size, np.uint8) if buffer is None else buffer

    def keep(self, buffers: list[Buffer]) -> None:
        """Keep buffers for other pictures."""
        self._spares.keep(buffers, self._most_kept_bytes)

    def enter(self, size: int) -> None:
        """Wait until a picture that takes so many bytes may begin."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._most_bytes is None
                    or self._lent_bytes == 0
                    or self._lent_bytes + size <= self._most_bytes
                )
            )
            self._lent_bytes += size

    def leave(self, size: int) -> None:
        """End a picture."""
        with self._changed:
            self._lent_bytes -= size
            self._changed.notify_all()


class Loan:
    """The memory of one picture, until it is given back."""

    def __init__(self, memory: PictureMemory) -> None:
        self._memory = memory
        self._buffers: list[Buffer] = []
        self._entered_bytes = 0

    def enter(self, size: int) -> None:
        """Wait until there is room for so many bytes, which are all that the picture will take."""
        self._memory.enter(size)
        self._entered_bytes += size

    def picture(self, form: Form, needed_bytes: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the arrays that a picture is decoded into, as `open_image` asks for them, once it enters."""
        self.enter(needed_bytes)
        alpha = self.array(form.plane_shape, form.dtype) if form.has_alpha else None
        return self.array(form.colour_shape, form.dtype), alpha

    def result(self, image: np.ndarray, dtype: DTypeLike, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """Return an array for what is computed of `image`, of its shape unless another is given."""
        shape = image.shape if shape is None else shape
        buffer = self._take(math.prod(shape) * np.dtype(dtype).itemsize + PAGE_BYTES)
        return placed_result(buffer, image, shape, dtype)

    def give_back(self) -> None:
        """Give all memory back: nothing may read it any more."""
        self._memory.keep(self._buffers)
        self._memory.leave(self._entered_bytes)
        self._buffers, self._entered_bytes = [], 0

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array of a shape."""
        size = math.prod(shape) * dtype.itemsize
        return self._take(size)[:size].view(dtype).reshape(shape)

    def _take(self, size: int) -> Buffer:
        buffer = self._memory.take(size)
        self._buffers.append(buffer)
        return buffer
