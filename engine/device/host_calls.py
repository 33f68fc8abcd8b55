"""Calls of a CUDA device with arrays of the host, made again and again: copy in, launch, copy out."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from engine.device.cuda_copies import copy_in, copy_out, picture_array
from engine.device.cuda_faults import translated
from engine.device.cuda_streams import Context, Event, check
from engine.device.device_memory import pinned_array
from engine.device.device_view import DeviceView, view_of
from engine.device.launches import Handle, Prepared
from engine.device.numba_cuda import cuda, driver
from engine.device.threads.parallel_copy import copy_array
from engine.geometry.layout import Layout

# Up to here arrays stay between calls: allocating takes 30 us of a call of 64 x 64, which takes 60.
KEPT_BYTES = 8 << 20
# Up to here a picture goes through page-locked memory as a whole; a larger one through a ring of chunks: the
# host's threads copy one while the device copies another.
WHOLE_BYTES = 256 << 10
RING = 3
# A chunk is a third of the picture, within these: 64 MB each way take 4.5 ms in chunks of 8 MB, 7.9 in chunks
# of 2 MB (H100).
LEAST_CHUNK_BYTES = 1 << 20
MOST_CHUNK_BYTES = 8 << 20


class _Slot(NamedTuple):
    """Page-locked memory of a chunk, and the end of the newest copy from or to it."""

    memory: np.ndarray
    event: Event

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the memory as an array like these rows."""
        return self.memory[: rows.nbytes].view(rows.dtype).reshape(rows.shape)


class _Arrays(NamedTuple):
    """What a call uses: a stream, device memory, and page-locked memory."""

    stream: Handle
    held: tuple[object, ...]
    image: DeviceView
    out: DeviceView
    ring: list[_Slot]


class HostCalls:
    """A prepared variant that is called with pictures of one shape and type, by any number of threads.

    Parameters
    ----------
    like : ndarray of shape (H, W, C)
        Has shape and type of the pictures.
    """

    def __init__(
        self, context: Context, prepared: Prepared, like: np.ndarray, result_dtype: np.dtype, layout: Layout
    ) -> None:
        self._context, self._prepared, self._like = context, prepared, like
        self._result_dtype, self._layout = result_dtype, layout
        self._is_kept = like.size * (like.itemsize + result_dtype.itemsize) <= KEPT_BYTES
        row_bytes = like[0].size * max(like.itemsize, result_dtype.itemsize)
        whole = len(like) * row_bytes
        chunk = whole if whole <= WHOLE_BYTES else min(max(whole // 3, LEAST_CHUNK_BYTES), MOST_CHUNK_BYTES)
        self._chunk_rows = max(1, min(len(like), chunk // row_bytes))
        self._slot_bytes = self._chunk_rows * row_bytes
        self._free: list[_Arrays] = []

    def __call__(self, samples: np.ndarray, out: np.ndarray) -> None:
        """Filter a picture of the host into an array of the host; return when it is there."""
        with self._context.selected():
            try:
                try:
                    arrays = self._free.pop()
                except IndexError:
                    arrays = self._new_arrays()
                self._filter(samples, out, arrays)
            except Exception as error:
                raise translated(error, "filtering on the device") from error
            if self._is_kept:
                self._free.append(arrays)

    def _filter(self, samples: np.ndarray, out: np.ndarray, arrays: _Arrays) -> None:
        try:
            self._copy_in(samples, arrays)
            self._prepared.launch(arrays.image, arrays.out, arrays.stream)
            self._copy_out(out, arrays)
        finally:
            # Also after an error: nothing may read or write the caller's arrays any more.
            check(driver.cuStreamSynchronize(arrays.stream.handle))

    def _copy_in(self, samples: np.ndarray, arrays: _Arrays) -> None:
        stream, _, image, _, ring = arrays
        if len(ring) == 1:
            staged = ring[0].of(samples)
            np.copyto(staged, samples)
            copy_in(staged, image, stream)
            return
        for number, (first, rows) in enumerate(self._chunks(samples)):
            slot = ring[number % RING]
            if number >= RING:
                slot.event.synchronize()
            staged = slot.of(rows)
            copy_array(rows, staged)
            copy_in(staged, image, stream, first)
            slot.event.record(stream.handle)

    def _copy_out(self, out: np.ndarray, arrays: _Arrays) -> None:
        stream, _, _, result, ring = arrays
        if len(ring) == 1:
            staged = ring[0].of(out)
            copy_out(result, staged, stream)
            check(driver.cuStreamSynchronize(stream.handle))
            np.copyto(out, staged)
            return
        chunks = list(self._chunks(out))
        for number in range(len(chunks) + RING):
            slot = ring[number % RING]
            if number >= RING and number - RING < len(chunks):
                _, rows = chunks[number - RING]
                slot.event.synchronize()
                copy_array(slot.of(rows), rows)
            if number < len(chunks):
                first, rows = chunks[number]
                copy_out(result, slot.of(rows), stream, first)
                slot.event.record(stream.handle)

    def _new_arrays(self) -> _Arrays:
        shape = self._like.shape
        image = picture_array(shape, self._like.dtype, self._layout, is_read=True)
        out = picture_array(shape, self._result_dtype, self._layout)
        stream = cuda.stream()
        count = 1 if self._chunk_rows == len(self._like) else RING
        ring = [_Slot(pinned_array((self._slot_bytes,), np.uint8), Event()) for _ in range(count)]
        return _Arrays(Handle(int(stream.handle)), (stream, image, out), view_of(image), view_of(out), ring)

    def _chunks(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first row of each chunk of a picture, and its rows."""
        for first in range(0, len(rows), self._chunk_rows):
            yield first, rows[first : first + self._chunk_rows]
