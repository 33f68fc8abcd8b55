"""Calls with arrays in a GPU's memory, on a made-up GPU: what is launched, comes back, and is refused."""

import ctypes
import gc
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.api.calls import device_calls, host_copy
from engine.device.array_libraries import given
from engine.device.device_arrays import library_of
from engine.errors import BadValue, EngineError
from tests.engine.made_up_gpu import Array, aligned, gpu

__all__ = ["gpu"]
MASK = [[1, 2, 1]]
PICTURE = aligned(np.arange(40, dtype=np.float32).reshape(5, 8))


class Doubled:
    """A prepared variant that writes twice each sample; with its streams."""

    def __init__(self):
        self.streams = []

    def launch(self, image, out, stream):
        """Do it at once."""
        self.streams.append(stream.handle)
        assert image.address % 16 == out.address % 16 == 0
        samples, results = (_memory(array) for array in (image, out))
        results[...] = 2 * samples[:, : results.shape[1]]


def _memory(view):
    values = (ctypes.c_float * view.size).from_address(view.address)
    return np.frombuffer(values, np.float32).reshape(view.shape)


def resolved(finite_only=False):
    """Return as much of a resolved filter of PICTURE as calls look at."""
    refuse = SimpleNamespace(finite_only=finite_only, key="made-up", refuse_samples=lambda samples: None)
    return SimpleNamespace(
        device=SimpleNamespace(key="cuda:0", title="a GPU"),
        samples=PICTURE[..., None],
        problem=SimpleNamespace(result_dtype="float32"),
        choice=SimpleNamespace(variant=refuse),
    )


def taken(values, stream=None):
    """Return made-up CuPy's array of these values, as a call gets it."""
    array = values if isinstance(values, Array) else Array(values)
    return given(library_of(array), array, stream)


@pytest.fixture
def calls(gpu):
    """Return calls of a made-up variant, and the variant."""
    doubled = Doubled()
    return device_calls().DeviceCalls(resolved(), doubled, (5, 8), taken(PICTURE)), doubled


def test_that_a_result_is_a_new_array_of_the_pictures_kind_or_the_array_out(calls):
    found = calls[0](taken(PICTURE), None)
    assert type(found) is Array
    assert np.array_equal(found.values, 2 * PICTURE)
    out = Array(aligned(np.zeros_like(PICTURE)))
    assert calls[0](taken(PICTURE), out) is out
    assert np.array_equal(out.values, 2 * PICTURE)


def test_that_views_give_what_their_copies_give(calls):
    wide = aligned(np.arange(80, dtype=np.float32).reshape(5, 16))
    for values in (wide[:, :8], wide[:, 4:12], wide[:, 1:9], wide[:, ::2], wide[::-1, 8:]):
        assert np.array_equal(calls[0](taken(values), None).values, 2 * values)


def test_that_work_goes_to_the_current_stream_or_the_one_that_is_given_and_nothing_waits(calls, gpu):
    gpu.streams.current = 3
    for given_stream in (None, 7, 0):
        picture = taken(PICTURE, given_stream)
        gpu.calls.clear()
        calls[0](picture, None)
        assert gpu.calls == []
    assert calls[1].streams == [3, 7, 0]


def test_that_what_a_dropped_plan_prepared_lives_until_the_device_was_waited_for(gpu):
    doubled, made = Doubled(), device_calls().DeviceCalls
    first = made(resolved(), doubled, (5, 8), taken(PICTURE))
    del first
    gc.collect()
    assert any(held is doubled for _, held in device_calls()._dropped)
    gpu.calls.clear()
    made(resolved(), Doubled(), (5, 8), taken(PICTURE))
    assert ("cuCtxSynchronize",) in gpu.calls
    assert not any(held is doubled for _, held in device_calls()._dropped)


WRONG_OUT = {
    "its rows": (np.zeros((5, 16), np.float32)[:, :8], "do not lie one after another"),
    "its type": (np.zeros((5, 8), np.uint8), "this filter takes float32 and gives float32"),
    "its shape": (np.zeros((8, 5), np.float32), "the plan is for"),
    "its beginning": (aligned(np.zeros(41, np.float32))[1:].reshape(5, 8), "multiple of 16 bytes"),
    "the picture": (PICTURE, "shares memory with the picture"),
}


def test_that_arrays_that_cannot_be_used_are_refused_in_words(calls):
    for out, words in WRONG_OUT.values():
        with pytest.raises(BadValue, match=words):
            calls[0](taken(PICTURE), Array(out))
    with pytest.raises(BadValue, match="its result stays there"):
        calls[0](taken(PICTURE), np.zeros_like(PICTURE))
    with pytest.raises(BadValue, match="this filter runs on cuda:0"):
        calls[0](taken(Array(PICTURE, device=1)), None)


def test_that_calls_that_cannot_be_are_refused_in_words(gpu):
    for values, how, words in [
        (PICTURE, {"device": "cpu"}, "filtered where it lies"),
        (PICTURE, {"device": "cuda:1"}, "filtered where it lies"),
        (PICTURE.astype(float), {}, "Convert the picture to float32 first"),
        (PICTURE, {"stream": "main"}, "it has no handle"),
    ]:
        with pytest.raises(BadValue, match=words):
            engine.correlate(Array(values), MASK, **how)


def test_that_what_prepares_or_copies_is_refused_in_words_while_a_graph_is_captured(gpu):
    gpu.is_captured = True
    for call in (
        lambda array: engine.correlate(array, MASK),
        lambda array: engine.plan(array, MASK),
        lambda array: engine.apply(array, MASK),
        lambda array: engine.matmul(array, array),
        lambda array: device_calls().DeviceCalls(resolved(), Doubled(), (5, 8), taken(array)),
    ):
        with pytest.raises(BadValue, match="while a graph is captured"):
            call(Array(PICTURE))


def test_that_a_copy_on_the_host_names_the_device_and_brings_values_back(gpu):
    copy = host_copy(Array(PICTURE))
    assert copy.device == "cuda:0"
    assert np.array_equal(copy.array, PICTURE)
    assert type(copy.back(copy.array)) is Array
    copy = host_copy(PICTURE, "cpu")
    assert copy.array is PICTURE
    assert copy.back(PICTURE) is PICTURE


def test_that_what_takes_no_array_of_a_gpu_says_so(gpu):
    for call, words in [
        (lambda array: engine.filter_stream(array, MASK), r"Call engine\.correlate"),
        (lambda array: engine.filter_stream([array], MASK), r"Call engine\.correlate"),
        (lambda array: engine.correlate(PICTURE, array, device="cpu"), "Copy it to the host first"),
        (lambda array: engine.correlate(PICTURE, MASK, device="cpu", out=array), "goes into an array"),
        (lambda array: engine.save_image(array, "picture.png"), "Copy it to the host first"),
        (lambda array: engine.apply(array, MASK, device="cpu"), "filtered where it lies"),
        (lambda array: engine.matmul(array, array, variant="numpy"), "it multiplies on the CPU"),
        (lambda array: engine.matmul(array, PICTURE), "matrix B in the host's memory"),
        (lambda array: engine.matmul(PICTURE, array), "matrix A in the host's memory"),
        (lambda array: engine.matmul(array, Array(PICTURE.astype(int))), "Convert it to float32 first"),
    ]:
        with pytest.raises(EngineError, match=words):
            call(Array(PICTURE))
    with pytest.raises(BadValue, match="the picture is in the host's memory"):
        engine.correlate(PICTURE, MASK, device="cpu", stream=0)
