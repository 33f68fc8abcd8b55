"""Calls of a CUDA device with arrays of the host, made again and again: copy in, launch, copy out."""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from engine.device.cuda_events import Context, Event, Handle
from engine.device.cuda_faults import translated
from engine.device.cuda_graph import check
from engine.device.cuda_rows import copy_rows, fill_bytes
from engine.device.device_memory import device_array
from engine.device.device_view import DeviceView, view_of
from engine.device.launches import Prepared
from engine.device.numba_cuda import cuda, driver
from engine.device.pinned_memory import pinned_array
from engine.device.threads.parallel_copy import copy_bytes
from engine.geometry.layout import Layout

# Up to here arrays stay between calls: allocating takes 30 us of a call of 64 x 64, which takes 60.
KEPT_BYTES = 8 << 20
# Up to here a picture goes through page-locked memory as a whole; a larger one through a ring of chunks: the
# host's threads copy one while the device copies another.
CHUNK_BYTES = 2 << 20
WHOLE_BYTES = 256 << 10
RING = 3


class _Arrays(NamedTuple):
    """What a call uses: a stream, device memory, and page-locked memory with the events of its chunks."""

    stream: Handle
    held: tuple[Any, ...]
    image: DeviceView
    out: DeviceView
    ring: list[tuple[np.ndarray, Event]]


class HostCalls:
    """A prepared variant that is called with pictures of one shape and type, by any number of threads.

    Parameters
    ----------
    like : ndarray of shape (H, W, C)
        Has shape and type of the pictures.
    """

    def __init__(self, prepared: Prepared, like: np.ndarray, result_dtype: np.dtype, layout: Layout) -> None:
        self._context, self._prepared, self._like = Context(), prepared, like
        self._result_dtype, self._layout = result_dtype, layout
        self._is_kept = like.size * (like.itemsize + result_dtype.itemsize) <= KEPT_BYTES
        self._free: list[_Arrays] = []

    def __call__(self, samples: np.ndarray, out: np.ndarray) -> None:
        """Filter a picture of the host into an array of the host; return when it is there."""
        with self._context.current():
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
        for number, (first, rows) in enumerate(_chunks(samples)):
            memory, event = ring[number % len(ring)]
            if number >= len(ring):
                event.synchronize()
            staged = memory[: rows.nbytes]
            copy_bytes(rows.ctypes.data, staged.ctypes.data, rows.nbytes)
            copy_rows(
                staged.view(rows.dtype).reshape(rows.shape), image, stream, to_device=True, first_row=first
            )
            event.record(stream.handle)

    def _copy_out(self, out: np.ndarray, arrays: _Arrays) -> None:
        stream, _, _, result, ring = arrays
        chunks = list(_chunks(out))
        under_way: deque[tuple[np.ndarray, np.ndarray, Event]] = deque()
        for number in range(len(chunks) + len(ring)):
            if number >= len(ring) and under_way:
                rows, staged, event = under_way.popleft()
                event.synchronize()
                copy_bytes(staged.ctypes.data, rows.ctypes.data, rows.nbytes)
            if number < len(chunks):
                (first, rows), (memory, event) = chunks[number], ring[number % len(ring)]
                staged = memory[: rows.nbytes].view(rows.dtype).reshape(rows.shape)
                copy_rows(staged, result, stream, to_device=False, first_row=first)
                event.record(stream.handle)
                under_way.append((rows, staged, event))

    def _new_arrays(self) -> _Arrays:
        shape, dtypes = self._like.shape, (self._like.dtype, self._result_dtype)
        height, width, channels = shape
        image, out = (
            device_array((height, self._layout.row_pixels(width, channels, dtype.itemsize), channels), dtype)
            for dtype in dtypes
        )
        if image.shape != shape:
            # 16 bytes at once may be read past a row's end: never used, but defined.
            fill_bytes(image, 0)
        stream = cuda.stream()
        row_bytes = width * channels * max(dtype.itemsize for dtype in dtypes)
        whole = height * row_bytes
        size, count = (whole, 1) if whole <= WHOLE_BYTES else (max(row_bytes, min(whole, CHUNK_BYTES)), RING)
        ring = [(pinned_array((size,), np.uint8), Event()) for _ in range(count)]
        return _Arrays(Handle(int(stream.handle)), (stream, image, out), view_of(image), view_of(out), ring)


def _chunks(rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first row of each chunk of a picture, and its rows."""
    step = max(1, CHUNK_BYTES // rows[0].nbytes)
    if rows.nbytes <= WHOLE_BYTES:
        yield 0, rows
        return
    for first in range(0, len(rows), step):
        yield first, rows[first : first + step]
