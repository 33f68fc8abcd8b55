"""Calls of a CUDA device with arrays of the host, made again and again: copy in, launch, copy out."""

from typing import NamedTuple

import numpy as np

from engine.device.cuda_events import current_context, in_context
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_graph import check
from engine.device.cuda_rows import copy_in, copy_out, fill_bytes
from engine.device.device_memory import device_array
from engine.device.launches import DeviceArray, Prepared, Stream
from engine.device.numba_cuda import cuda, driver
from engine.device.pinned_memory import pinned_array
from engine.geometry.layout import Layout

# Up to here arrays stay between calls: allocating takes 30 us of a call of 64 x 64, which takes 40.
KEPT_BYTES = 4 << 20
# Up to here picture and result go through page-locked memory, from where a copy does not wait for the driver.
STAGED_BYTES = 256 << 10


class _Arrays(NamedTuple):
    """Where a call's picture and result lie, and the stream it works on; staged ones are page-locked."""

    stream: Stream
    image: DeviceArray
    out: DeviceArray
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
        self._context, self._prepared, self._like = current_context(), prepared, like
        self._result_dtype, self._layout = result_dtype, layout
        out_bytes = like.size * result_dtype.itemsize
        self._is_kept = like.nbytes + out_bytes <= KEPT_BYTES
        self._is_staged = like.nbytes + out_bytes <= STAGED_BYTES
        self._free: list[_Arrays] = []
        with in_context(self._context), cuda_errors_in_words("allocating for a call"):
            self._keep(self._new_arrays())

    def __call__(self, samples: np.ndarray, out: np.ndarray) -> None:
        """Filter a picture of the host into an array of the host; return when it is there."""
        with in_context(self._context), cuda_errors_in_words("filtering on the device"):
            try:
                arrays = self._free.pop()
            except IndexError:
                arrays = self._new_arrays()
            try:
                self._filter(samples, out, arrays)
            finally:
                self._keep(arrays)

    def _filter(self, samples: np.ndarray, out: np.ndarray, arrays: _Arrays) -> None:
        stream, image, result, staged_image, staged_out = arrays
        if staged_image is not None:
            np.copyto(staged_image, samples)
            samples = staged_image
        target = out if staged_out is None else staged_out
        try:
            copy_in(samples, image, stream)
            self._prepared.launch(image, result, stream)
            copy_out(result, target, stream)
        finally:
            # Also after an error: nothing may read or write the caller's arrays any more.
            check(driver.cuStreamSynchronize(int(stream.handle)))
        if staged_out is not None:
            np.copyto(out, staged_out)

    def _keep(self, arrays: _Arrays) -> None:
        if self._is_kept:
            self._free.append(arrays)

    def _new_arrays(self) -> _Arrays:
        height, width, channels = self._like.shape
        shapes = (
            (height, self._layout.row_pixels(width, channels, dtype.itemsize), channels)
            for dtype in (self._like.dtype, self._result_dtype)
        )
        image, out = map(device_array, shapes, (self._like.dtype, self._result_dtype))
        if image.shape != self._like.shape:
            # 16 bytes at once may be read past a row's end: never used, but defined.
            fill_bytes(image, 0)
        if not self._is_staged:
            return _Arrays(cuda.stream(), image, out, None, None)
        shape = self._like.shape
        staged = pinned_array(shape, self._like.dtype), pinned_array(shape, self._result_dtype)
        return _Arrays(cuda.stream(), image, out, *staged)
