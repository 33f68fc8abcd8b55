"""Chunks and threads on a real device: the bits of the whole picture, copies beside kernels, whole graphs."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest

import engine
from engine.device import cuda_memory
from engine.device.cuda_memory import check
from engine.device.launches import DeviceKind
from engine.device.numba_cuda import cuda
from engine.flow.chunks import Queue
from engine.geometry.border import Border
from engine.work.filtering.variants import VARIANTS, variant
from tests.gpu.test_variants_on_device import binomial_for

BAND_INVARIANT = [
    v.key for v in VARIANTS if v.device is DeviceKind.CUDA and v.band_invariant and not v.library
]
MASK = np.outer([1.0, 2.0, 3.0, 2.0, 1.0], [1.0, 4.0, 1.0])


def bits(values):
    """Return an array that is equal only where every bit is."""
    return np.ascontiguousarray(values).view(np.uint8)


@pytest.mark.parametrize("key", [key for key in BAND_INVARIANT if not variant(key).uint8_only])
@pytest.mark.parametrize("border", list(Border))
def test_that_bands_give_the_bits_of_the_whole(device, key, border):
    random = np.random.default_rng(1)
    mask = binomial_for(variant(key)).weights
    for dtype, shape in (("float32", (1031, 517)), ("uint8", (600, 333, 3))):
        picture = (random.random(shape) * 255).astype(dtype)
        how = {"border": border, "cval": 0.3 * (border == "constant"), "variant": key, "device": device}
        whole = engine.correlate(picture, mask, **how)
        for ring in (2, 4):
            streamed = engine.filter_stream(
                picture, mask, ring=ring, chunk_bytes=100 * picture[0].size * 4, **how
            )
            assert len(streamed.timeline.chunks) > 5
            np.testing.assert_array_equal(bits(streamed.values), bits(whole))


@pytest.mark.parametrize("key", [key for key in BAND_INVARIANT if not variant(key).uint8_only])
@pytest.mark.parametrize("border", list(Border))
def test_that_chunks_of_dask_give_the_bits_of_the_whole(device, key, border):
    arrays = pytest.importorskip("dask.array")
    mask = binomial_for(variant(key)).weights
    picture = np.random.default_rng(2).random((603, 517)).astype(np.float32)
    how = {"border": border, "cval": 0.3 * (border == "constant"), "variant": key, "device": device}
    lazy = engine.filter_dask(arrays.from_array(picture, chunks=(130, 177)), mask, **how)
    values = lazy.compute(scheduler="threads", num_workers=3)
    np.testing.assert_array_equal(bits(values), bits(engine.correlate(picture, mask, **how)))


@pytest.mark.parametrize(
    ("key", "dtype", "shape"),
    [
        (v.key, dtype, shape)
        for v in VARIANTS
        if v.key in BAND_INVARIANT and v.integer_output
        for dtype, shape in (("uint8", (1031, 517)), ("uint8", (600, 333, 3)), ("uint16", (700, 401)))
        if dtype == "uint8" or not v.uint8_only
    ],
)
def test_that_results_of_the_pictures_type_are_those_of_the_whole(device, key, dtype, shape):
    picture = np.random.default_rng(5).integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    how = {"border": "wrap", "variant": key, "device": device, "result": "same"}
    mask = binomial_for(variant(key)).weights / 54
    whole = engine.correlate(picture, mask, **how)
    for make in (np.empty, engine.pinned_array):
        out = make(shape, dtype)
        streamed = engine.filter_stream(picture, mask, out=out, chunk_bytes=100 * picture[0].nbytes, **how)
        assert len(streamed.timeline.chunks) > 5
        np.testing.assert_array_equal(out, whole)


@pytest.mark.parametrize(("pinned_in", "pinned_out"), [(True, True), (True, False), (False, True)])
def test_that_pinned_memory_does_not_change_the_result(device, pinned_in, pinned_out):
    random, shape = np.random.default_rng(2), (3000, 2000)
    picture = (engine.pinned_array if pinned_in else np.empty)(shape, np.float32)
    picture[...] = random.random(shape, np.float32)
    out = (engine.pinned_array if pinned_out else np.empty)(shape, np.float32)
    out.fill(np.nan)
    streamed = engine.filter_stream(picture, MASK, device=device, out=out, chunk_bytes=1 << 20)
    assert streamed.values is out
    np.testing.assert_array_equal(bits(out), bits(engine.correlate(picture, MASK, device=device)))
    assert (Queue.STAGE_IN in streamed.timeline.queues) is not pinned_in
    assert (Queue.STAGE_OUT in streamed.timeline.queues) is not pinned_out


EQUAL, UNEQUAL = [(90, 70)] * 60, [(50 + 37 * n % 400, 30 + 101 * n % 500) for n in range(40)]


@pytest.mark.parametrize(
    ("key", "shapes", "chunks"),
    [("auto", UNEQUAL, {"chunk_bytes": 1 << 18})]
    + [(key, EQUAL, {"ring": 2}) for key in ("auto", "separable-l1", "fft")],
    ids=["auto, unequal", "auto", "separable-l1", "fft"],
)
def test_that_a_long_batch_comes_back_right(device, key, shapes, chunks):
    if key == "fft" and not find_spec("cupy"):
        pytest.skip("needs CuPy")
    random = np.random.default_rng(3)
    pictures = [random.random(shape, np.float32) for shape in shapes]
    how = {"variant": key, "device": device}
    streamed = engine.filter_stream(iter(pictures), MASK, **chunks, **how)
    for picture, values in zip(pictures, streamed.values, strict=True):
        np.testing.assert_array_equal(bits(values), bits(engine.correlate(picture, MASK, **how)))


def test_that_queues_hold_one_chunk_at_a_time(device):
    picture, out = engine.pinned_array((8192, 8192)), engine.pinned_array((8192, 8192))
    picture.fill(1.0)
    for _ in range(2):
        timeline = engine.filter_stream(picture, MASK, device=device, out=out).timeline
    assert timeline.clock == "device events"
    queues = (Queue.COPY_IN, Queue.KERNEL, Queue.COPY_OUT)
    spans_of = {queue: [span for span in timeline.spans if span.queue is queue] for queue in queues}
    for spans in spans_of.values():
        assert len(spans) == len(timeline.chunks) >= 8
        # An event is exact to about half a microsecond.
        assert all(b.begin_ms >= a.end_ms - 0.002 for a, b in itertools.pairwise(spans))
    both_ms = sum(
        max(0.0, min(a.end_ms, b.end_ms) - max(a.begin_ms, b.begin_ms))
        for a, b in itertools.product(spans_of[Queue.COPY_IN], spans_of[Queue.COPY_OUT])
    )
    assert both_ms > 0.3 * timeline.busy_ms(Queue.COPY_IN), "the copies wait for one another"


def reserved_bytes():
    """Return how much of the device's memory the pool has of the system, used or not."""
    from cuda.bindings import driver

    pool, _ = cuda_memory._pool(cuda.get_current_device().id)
    reserved = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
    return int(check(driver.cuMemPoolGetAttribute(pool, reserved)))


def test_that_the_next_stream_and_the_next_run_take_nothing_of_the_system(device, monkeypatch):
    picture = np.ones((2000, 1000), np.float32)
    for _ in range(2):
        engine.filter_stream(picture, MASK, device=device, chunk_bytes=1 << 20)
        engine.correlate(picture, MASK, device=device)
    monkeypatch.setattr(cuda_memory, "_new_pinned", lambda size: pytest.fail(f"{size} bytes locked"))
    reserved = reserved_bytes()
    for _ in range(20):
        engine.filter_stream(picture, MASK, device=device, chunk_bytes=1 << 20)
        engine.correlate(picture, MASK, device=device)
        assert reserved_bytes() == reserved


ROUNDS = 40


def test_that_masks_edited_in_one_thread_break_no_capture_in_another(device):
    picture = np.random.default_rng(3).integers(0, 99, (64, 96)).astype(np.float32)
    is_measured = threading.Event()

    def edit():
        """Filter with one mask after another, each written to constant memory, during a measurement."""
        edits = 0
        while not is_measured.is_set() or edits < ROUNDS:
            edits += 1
            values = engine.correlate(picture, [[1, edits, 1]] * 3, device=device, variant="register-blocked")
            assert values[5, 5] == (picture[4:7, 4:7] * [1, edits, 1]).sum()
        return edits

    with ThreadPoolExecutor(1) as other:
        edits = other.submit(edit)
        try:
            for _ in range(ROUNDS):
                # Verified, and timed by a graph that is captured three times.
                applied = engine.apply(
                    picture, "gaussian:5", device=device, variant="register-blocked", budget_s=0.001
                )
                assert applied.result.timing is not None
        finally:
            is_measured.set()
        assert edits.result() >= ROUNDS


def test_that_streams_of_two_threads_do_not_mix(device):
    """Both go through the same streams of the device, and both come to replay graphs."""
    random = np.random.default_rng(5)
    pictures = [random.integers(0, 99, (120, 80)).astype(np.float32) for _ in range(80)]

    def filtered(mask):
        values = engine.filter_stream(pictures, mask, device=device, ring=2).values
        for picture, result in zip(pictures, values, strict=True):
            np.testing.assert_array_equal(result, engine.correlate(picture, mask, device=device))

    with ThreadPoolExecutor(2) as threads:
        for done in [
            threads.submit(filtered, mask) for mask in ("1 2 1; 2 4 2; 1 2 1", "1 0 -1; 2 0 -2; 1 0 -1")
        ]:
            done.result()
