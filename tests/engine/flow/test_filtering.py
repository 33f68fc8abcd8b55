"""The call for large pictures and batches, on the CPU and in the simulator."""

from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.device.devices import devices
from engine.device.launches import DeviceKind
from engine.errors import BadValue, Cancelled, EngineError
from engine.flow.chunks import Queue
from engine.geometry.block import UnsupportedVariant
from engine.geometry.border import Border
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.case_lists import one_case
from tests.engine.variants.executed import WITH_BYTES

CPU = [v for v in VARIANTS if v.device is DeviceKind.CPU and v.band_invariant]
GOOD = np.eye(3, dtype=np.float32)
STACK = r"an array is one picture.*pass list\(array\)"


def bits(values):
    """Return an array that is equal only where every bit is."""
    return values.view(np.uint8)


def test_that_a_picture_in_bands_is_bit_for_bit_the_whole():
    for dtype, channels in [("float32", 1), ("uint8", 3)]:
        for key in [v.key for v in CPU]:
            random = np.random.default_rng(1)
            picture = (random.random((131, 70, channels)) * 255).astype(dtype)
            mask = random.random((5, 4)) - 0.5
            if variant(key).rank == 1:
                mask = np.outer(mask[:, 0], mask[0])
            found = {}
            for border in Border:
                how = {"border": border, "cval": 0.3 * (border == "constant"), "anchor": (1, 3)}
                how |= {"variant": key, "device": "cpu"}
                whole = engine.correlate(picture, mask, **how)
                streamed = engine.filter_stream(picture, mask, chunk_bytes=20 * 70 * 4 * channels, **how)
                same = np.array_equal(bits(streamed.values), bits(whole))
                found[border] = (same, len(streamed.timeline.chunks))
            assert found == dict.fromkeys(Border, (True, 7))


@pytest.mark.slow
def test_that_every_cuda_variant_gives_the_same_bits_in_bands_in_the_simulator():
    random, found = np.random.default_rng(2), []
    for v in VARIANTS:
        if v.device is not DeviceKind.CUDA or not v.band_invariant or v.library:
            continue
        # Each variant gets one border and one type of results; every border is tried elsewhere.
        case, is_bytes = one_case(v), v.key in WITH_BYTES
        mask, how = case.mask(), {"variant": v.key, "device": "simulator", "border": case.border}
        if v.uses_block:
            how["block"] = case.block
        how |= {"result": "same" if is_bytes else "float32"}
        how["cval"] = (3.0 if is_bytes else 0.3) * (case.border is Border.CONSTANT)
        # High enough for two bands, which have twice the mask's rows at least.
        picture = random.random((4 * mask.rows, 3), np.float32)
        image = (picture * 256).astype(np.uint8) if is_bytes else picture
        whole = engine.correlate(image, mask, **how)
        streamed = engine.filter_stream(image, mask, chunk_bytes=whole.nbytes // 2, **how)
        assert np.array_equal(bits(whole), bits(streamed.values)), v.key
        assert len(streamed.timeline.chunks) >= 2
        found.append((v.key, str(streamed.values.dtype)))
    assert {key for key, _ in found} == {v.key for v in VARIANTS if v.has_kernels and v.band_invariant}
    assert {dtype for _, dtype in found} == {"float32", "uint8"}


def test_that_a_batch_of_unequal_pictures_comes_back_in_order_as_it_is_made():
    shapes = [(9, 4), (1, 1), (40, 7, 3), (9, 4)]
    taken = []
    received = []

    def pictures():
        for number, shape in enumerate(shapes):
            taken.append(number)
            yield np.full(shape, number, np.uint8)

    def receive(number, values):
        received.append((number, len(taken)))
        assert values.shape == shapes[number]
        assert float(values.max()) == 2 * number

    streamed = engine.filter_stream(pictures(), [[2]], device="cpu", receive=receive, chunk_bytes=400)
    # Each was received before the next one was made.
    assert received == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert streamed.values == ()
    assert [chunk.picture for chunk in streamed.timeline.chunks] == [0, 1, *[2] * 10, 3]


def test_that_results_go_where_the_caller_wants_them():
    pictures = [GOOD, np.eye(4, dtype=np.float32)]
    arrays = [np.full(picture.shape, np.nan, np.float32) for picture in pictures]
    streamed = engine.filter_stream(pictures, [[1, 1]], device="cpu", out=arrays)
    for array, values, picture in zip(arrays, streamed.values, pictures, strict=True):
        assert values is array
        np.testing.assert_array_equal(array, engine.correlate(picture, [[1, 1]], device="cpu"))
    # A generator has no length: no more is taken of it than there are pictures.
    left = iter([np.empty_like(GOOD) for _ in range(3)])
    assert len(engine.filter_stream(iter([GOOD, GOOD]), [[1]], device="cpu", out=left).values) == 2
    assert len(list(left)) == 1
    stacked = np.empty((2, 3, 3), np.float32)
    engine.filter_stream([GOOD, GOOD], [[2]], device="cpu", out=list(stacked))
    np.testing.assert_array_equal(stacked, [2 * GOOD] * 2)
    how = {"device": "cpu", "chunk_bytes": np.int64(4 * 9 * 3), "ring": np.uint8(2)}
    assert len(engine.filter_stream(np.eye(9), [[1]], **how).timeline.chunks) == 3
    # A chunk is measured by its larger copy.
    small = engine.filter_stream(np.eye(9, dtype=np.uint8), [[1]], **how, result="same")
    assert len(small.timeline.chunks) == 1


def test_that_errors_of_the_call_are_not_reported_for_a_picture():
    for name, value, words in [
        ("ring", 1, "a ring of 1:"),
        ("ring", 17, "a ring of 17:"),
        ("ring", 4.0, r"a ring of 4\.0.*whole number from 2 to 16"),
        ("chunk_bytes", 32e6, r"chunks of 32000000\.0 bytes: a number of bytes is a whole number \(an int\)"),
        ("chunk_bytes", "1 MB", "a number of bytes is a whole number"),
        ("chunk_bytes", 0, "a chunk has at least 1 byte"),
        ("variant", "atuo", r"^variant 'atuo': .*Did you mean auto\?"),
        ("variant", None, r"^variant 'None': no variant is called that"),
        ("result", "uint8", r"^results of type 'uint8': there is no such choice.*one of float32, same"),
        ("border", "nix", r"^border 'nix'"),
        ("cval", "x", r"^a constant border of 'x'"),
        ("block", "3y3", r"^block '3y3'"),
        ("layout", "x", r"^layout 'x'"),
        ("device", "cuda:77", r"^device 'cuda:77'"),
        ("checkpoint", 3, r"^checkpoint: an int cannot be called"),
        ("receive", 3, r"^receive: an int cannot be called"),
    ]:
        pictures = iter([GOOD])
        with pytest.raises(EngineError, match=words):
            engine.filter_stream(pictures, [[1]], **{"device": "cpu", name: value})
        assert len(list(pictures)) == 1


def test_that_what_is_no_picture_is_named():
    for pictures, words in [
        ([], "The batch is empty"),
        (7, r"^The pictures: what was passed is an int"),
        ("astronaut", r"^The pictures: what was passed is a str"),
        (None, r"^The pictures: what was passed is None"),
        (b"abc", r"^The pictures: what was passed is a bytes"),
        ([None], r"^picture 1 of the batch: None: a picture is an array"),
        ([GOOD, None, GOOD], r"^picture 2 of the batch: None: a picture is an array"),
        ([GOOD, {}], r"^picture 2 of the batch: a dict: a picture is an array"),
        ([GOOD, np.empty((0, 4))], r"^picture 2 of the batch: an array of shape"),
        (np.ones((3, 9, 4, 1)), STACK),
        (np.ones((3, 9, 40)), STACK),
        ([[1, 2], [3, 4]], r"picture 1 of the batch: 1 axis.*is a list.*numpy\.array"),
    ]:
        with pytest.raises(BadValue, match=words):
            engine.filter_stream(pictures, [[1]], device="cpu")


def read_only():
    array = np.empty_like(GOOD)
    array.flags.writeable = False
    return array


OWN = np.empty_like(GOOD)
LARGE = np.arange(2400, dtype=np.float32).reshape(60, 40)
APART = np.empty((3, 6), np.float32)[:, ::2]


def test_that_an_array_that_cannot_hold_a_result_is_refused_with_the_reason():
    for pictures, out, words in [
        (GOOD, np.empty((3, 4), np.float32), r"an array out of shape \(3, 4\): the result has \(3, 3\)"),
        (GOOD, np.empty((3, 3)), "an array out of float64: the result is float32"),
        ([GOOD, GOOD], [OWN, APART], r"^picture 2 of the batch: This array out: its samples do not lie"),
        (GOOD, read_only(), "read-only"),
        (LARGE, LARGE, "shares memory"),
        (LARGE[:50], LARGE[10:], "shares memory"),
        ([GOOD, GOOD], [OWN, OWN], "shares memory"),
        ([GOOD], [3], "picture 1 of the batch: out of int: a result goes into an array"),
        ([GOOD], [None], "there is none for picture 1"),
        (GOOD, 5, "is an int"),
        (GOOD, "x", "a str"),
        ([GOOD, GOOD], np.empty((2, 3, 3), np.float32), r"each picture has a result of its own.*list\(out\)"),
        ([GOOD, GOOD], [OWN] * 3, "2 pictures, but 3 arrays"),
        (GOOD, [OWN] * 3, "1 picture, but 3 arrays"),
        ([GOOD] * 4, [OWN] * 3, "4 pictures, but 3 arrays: there is none for picture 4"),
        (iter([GOOD, GOOD]), [OWN], "there is none for picture 2"),
    ]:
        with pytest.raises(BadValue, match=words):
            engine.filter_stream(pictures, "gaussian:5:1", device="cpu", out=out)
        assert np.array_equal(LARGE.ravel(), np.arange(2400))


def test_that_a_result_of_the_pictures_type_needs_a_variant_for_it():
    picture = np.arange(60, dtype=np.uint8).reshape(12, 5)
    out = np.empty(picture.shape, np.float32)
    with pytest.raises(BadValue, match="an array out of float32: the result is uint8"):
        engine.filter_stream(picture, [[1]], device="cpu", result="same", out=out)
    how = {"device": "simulator", "variant": "tiled-input", "result": "same", "chunk_bytes": 30}
    with pytest.raises(UnsupportedVariant, match="It writes float32 results only"):
        engine.filter_stream(picture, [[1], [1]], **how)
    with pytest.raises(BadValue, match="results of type float64, as the picture"):
        engine.filter_stream([np.eye(3)], [[1]], device="cpu", result="same")


def test_that_a_stream_can_be_stopped_where_it_reports_progress():
    steps = []

    def checkpoint(step):
        steps.append(step)
        if len(steps) == 5:
            raise Cancelled("Stopped")

    with pytest.raises(Cancelled):
        engine.filter_stream(np.eye(100), [[1]], device="cpu", chunk_bytes=4000, checkpoint=checkpoint)
    assert [step.fraction for step in steps] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])


def test_that_auto_takes_the_fastest_variant_that_can_be_cut(monkeypatch):
    picture = np.random.default_rng(5).random((100, 100), np.float32)
    whole = engine.filter_stream(picture, "box:9x9", device="cpu")
    in_bands = engine.filter_stream(picture, "box:9x9", device="cpu", chunk_bytes=4000)
    assert not variant(whole.timeline.variant).band_invariant
    assert variant(in_bands.timeline.variant).band_invariant
    same = engine.correlate(picture, "box:9x9", device="cpu", variant=in_bands.timeline.variant)
    np.testing.assert_array_equal(bits(in_bands.values), bits(same))
    running = replace(variant("cpu-serial"), band_invariant=False)
    monkeypatch.setattr("engine.work.filtering.planner.variant", lambda key: running)
    with pytest.raises(UnsupportedVariant, match="bands"):
        engine.filter_stream(np.eye(100), [[1]], device="cpu", variant="cpu-serial", chunk_bytes=4000)
    whole = engine.filter_stream([np.eye(9), np.eye(8)], [[1]], device="cpu", variant="cpu-serial")
    assert len(whole.timeline.chunks) == 2


def test_that_the_timeline_of_the_cpu_has_kernels_only_one_after_the_other():
    streamed = engine.filter_stream(np.eye(100), [[1]], device="cpu", chunk_bytes=4000)
    timeline, tops = streamed.timeline, range(0, 100, 10)
    assert timeline.queues == (Queue.KERNEL,)
    assert [(chunk.top, chunk.bottom) for chunk in timeline.chunks] == [(n, n + 10) for n in tops]
    ends = [0.0, *(span.end_ms for span in timeline.spans)]
    assert all(span.begin_ms >= end for span, end in zip(timeline.spans, ends, strict=False))
    assert timeline.end_to_end_ms >= timeline.busy_ms(Queue.KERNEL)


@pytest.mark.skipif(
    any(d.key.startswith("cuda:") and d.available for d in devices()), reason="there is a GPU"
)
def test_that_pinned_memory_without_a_gpu_is_refused_in_words():
    with pytest.raises(engine.DeviceUnavailable, match=r"numpy\.empty"):
        engine.pinned_array((3, 3))


@pytest.mark.slow
def test_that_a_large_picture_on_the_cpu_goes_in_many_chunks():
    picture, fractions = np.zeros((4096, 8192), np.float32), []
    timeline = engine.filter_stream(
        picture, [[1, 2]], device="cpu", checkpoint=lambda step: fractions.append(step.fraction)
    ).timeline
    assert len(timeline.chunks) == len(fractions) == 32
    assert max(chunk.bytes_in for chunk in timeline.chunks) <= 4 << 20
