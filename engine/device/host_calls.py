"""Calls of a CUDA device with arrays of the host, made again and again: copy in, launch, copy out."""

from typing import Any, NamedTuple

import numpy as np

from engine.device.cuda_events import Context, Handle
from engine.device.cuda_faults import translated
from engine.device.cuda_graph import check
from engine.device.cuda_rows import copy_rows, fill_bytes
from engine.device.device_memory import device_array
from engine.device.device_view import DeviceView, view_of
from engine.device.launches import Prepared
from engine.device.numba_cuda import cuda, driver
from engine.device.pinned_memory import pinned_array
from engine.geometry.layout import Layout

# Up to here arrays stay between calls: allocating takes 30 us of a call of 64 x 64, which takes 40.
KEPT_BYTES = 4 << 20
# Up to here picture and result go through page-locked memory, from where a copy does not wait for the driver.
STAGED_BYTES = 256 << 10


class _Arrays(NamedTuple):
    """Where a call's picture and result lie, and the stream it works on; staged ones are page-locked."""

    stream: Handle
    held: tuple[Any, ...]
    image: DeviceView
    out: DeviceView
    staged_image: np.ndarray | None
    staged_out: np.ndarray | None


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
        size = like.size * (like.itemsize + result_dtype.itemsize)
        self._is_kept, self._is_staged = size <= KEPT_BYTES, size <= STAGED_BYTES
        self._free: list[_Arrays] = []

    def __call__(self, samples: np.ndarray, out: np.ndarray) -> None:
        """Filter a picture of the host into an array of the host; return when it is there."""
        with self._context:
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
        stream, _, image, result, staged_image, staged_out = arrays
        if staged_image is not None:
            np.copyto(staged_image, samples)
            samples = staged_image
        target = out if staged_out is None else staged_out
        try:
            copy_rows(samples, image, stream, to_device=True)
            self._prepared.launch(image, result, stream)
            copy_rows(target, result, stream, to_device=False)
        finally:
            # Also after an error: nothing may read or write the caller's arrays any more.
            check(driver.cuStreamSynchronize(stream.handle))
        if staged_out is not None:
            np.copyto(out, staged_out)

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
        staged = [pinned_array(shape, dtype) for dtype in dtypes] if self._is_staged else [None, None]
        stream = cuda.stream()
        held = stream, image, out
        return _Arrays(Handle(int(stream.handle)), held, view_of(image), view_of(out), *staged)
