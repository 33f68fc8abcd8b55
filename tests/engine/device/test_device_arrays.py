"""Arrays of other libraries, read without a GPU: layouts, streams, and which library an array is of."""

from ctypes import c_void_p
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from engine.device.array_libraries import (
    as_view,
    given,
    library_called,
    on_device,
    on_host,
    stream_handle,
    strides_unless_dense,
)
from engine.device.cuda_memory import copy_in, copy_out
from engine.device.device_arrays import Found, library_of
from engine.device.launches import DeviceView, Handle
from engine.errors import BadValue
from tests.engine.made_up_gpu import Array, aligned, gpu

__all__ = ["gpu"]
FLOAT = np.dtype(np.float32)


def found_as(strides, shape=(5, 8), address=4096, dtype=FLOAT):
    """Return an array as a library describes it."""
    return Found(address, shape, dtype, strides, 0)


def test_that_rows_may_be_apart_by_whole_pixels_and_vectors_and_all_else_has_to_be_copied_first():
    for strides, shape, pitch in [
        (None, (5, 8), 8),
        ((64, 4), (5, 8), 16),
        ((48, 12, 4), (5, 3, 3), 4),
        ((96, 12, 4), (5, 3, 3), 8),
        ((32, 4), (5, 1), 8),
        ((36, 4), (5, 8), None),  # no whole vectors
        ((64, 8), (5, 8), None),  # every second column
        ((-64, 4), (5, 8), None),
        ((64, -4), (5, 8), None),
        ((0, 4), (5, 8), None),  # one row for all
        ((4, 20), (5, 8), None),  # Fortran's order
        ((64, 12, 4), (5, 3, 3), None),  # no whole pixels
    ]:
        height, width, channels = (*shape, 1)[:3]
        view = as_view(found_as(strides, shape), (height, width, channels))
        assert (view and view.shape) == (pitch and (5, pitch, channels))
    # Between vectors.
    assert as_view(found_as(None, address=4100), (5, 8, 1)) is None


def test_that_strides_are_left_out_where_samples_lie_one_after_another():
    for shape, strides, is_dense in [
        ((5, 8), (32, 4), True), ((1, 8), (999, 4), True), ((5, 1), (4, 999), True), ((), (), True),
        ((5, 8), (64, 4), False), ((5, 8), (4, 20), False),
    ]:  # fmt: skip
        assert (strides_unless_dense(shape, strides, 4) is None) is is_dense


class Lender:
    """A stream with the protocol as a method."""

    def __cuda_stream__(self):
        return 0, 7


def test_that_streams_of_every_library_have_a_handle_and_all_else_is_refused():
    named = {"__cuda_stream__": (0, 7), "ptr": 7, "cuda_stream": 7, "handle": c_void_p(7)}
    for stream in (7, Lender(), Handle(7), *(SimpleNamespace(**{name: one}) for name, one in named.items())):
        assert stream_handle(stream) == 7
    # Numba's default stream.
    assert stream_handle(SimpleNamespace(handle=c_void_p(0))) == 0
    for other in ("main", object(), 1.5):
        with pytest.raises(BadValue, match="it has no handle"):
            stream_handle(other)


class Lent:
    """An array that says by DLPack where it is."""

    def __init__(self, device_type):
        self._type = device_type

    def __dlpack_device__(self):
        if self._type is None:
            raise BufferError("on several devices")
        return self._type, 0


class Shown:
    """An array that another protocol shows."""

    __cuda_array_interface__: ClassVar = {}


class OnCpu:
    """An array as JAX's on the CPU: its class has the name, and it has no value."""

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("only defined for NVidia GPU buffers")


def test_that_what_is_on_the_host_has_no_library():
    values = (np.ones(3), np.ma.ones(3), np.float32(1), [1, 2], None, "text")
    for array in (*values, Lent(1), Lent(None), OnCpu(), Lent, OnCpu):
        assert library_of(array) is None


def test_that_a_protocol_is_enough_and_an_array_of_cupy_is_known_by_its_package(gpu):
    assert all(library_called(library_of(array)).has_own_streams for array in (Lent(2), Lent(13), Shown()))
    array = Array(np.ones((2, 3), np.float32))
    found = library_called(library_of(array)).read(array, 0)
    assert found == (array.data.ptr, (2, 3), FLOAT, None, 0, False)


def test_that_a_copy_on_the_host_has_the_samples_of_any_view_and_is_waited_for_on_the_arrays_stream(gpu):
    for cut in (np.s_[:], np.s_[::-1], np.s_[:, ::-2], np.s_[2:3, 1:], np.s_[:0]):
        array = Array(np.arange(35, dtype=np.float32).reshape(5, 7)[cut])
        assert np.array_equal(on_host(given(library_of(array), array)), array.values), cut
    gpu.calls.clear()
    array = Array(np.ones((2, 3), np.float32))
    on_host(given(library_of(array), array, 5))
    assert gpu.calls == [("copy", 5), ("cuStreamSynchronize", 5)]


def test_that_values_of_the_host_come_back_as_the_arrays_kind(gpu):
    like = Array(np.ones((2, 3), np.float32))
    values = np.arange(12, dtype=np.uint32).reshape(3, 4).T
    found = on_device(values, given(library_of(like), like))
    assert type(found) is Array
    assert np.array_equal(found.values, values)


def test_that_new_memory_belongs_to_the_stream_that_is_given(gpu):
    like = Array(aligned(np.ones((2, 3), np.float32)))
    for stream in (5, None):
        as_given = given(library_of(like), like, stream)
        as_given.library.empty((2, 3), FLOAT, as_given)
    assert gpu.streams.entered == [5]


def test_that_rows_are_copied_from_the_one_on_that_is_said(gpu):
    memory, rows = np.zeros((4, 3), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    matrix = DeviceView(memory.ctypes.data, memory.shape, FLOAT)
    copy_in(rows, matrix, Handle(5), 1)
    assert memory.tolist() == [[0] * 3, *rows.tolist(), [0] * 3]
    back = np.empty((3, 3), np.float32)
    copy_out(matrix, back, None)
    assert np.array_equal(back, memory[:3])
    assert gpu.calls == [("copy", 5), ("copy", 0)]
