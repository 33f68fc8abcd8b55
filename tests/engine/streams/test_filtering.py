"""The call for large pictures and batches, on the CPU and in the simulator."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.device.devices import devices
from engine.device.launches import DeviceKind
from engine.errors import BadValue, Cancelled, EngineError, UnsupportedVariant
from engine.geometry.border import Border
from engine.run.sampling import Step
from engine.streams.timeline import Queue
from engine.variants.registry import VARIANTS, variant

ROOT = Path(__file__).parents[3]
CPU = [v.key for v in VARIANTS if v.device is DeviceKind.CPU and v.band_invariant]


def bits(values: np.ndarray) -> np.ndarray:
    """Return an array that is equal only where every bit is."""
    return values.view(np.uint8)


@pytest.mark.parametrize("key", CPU)
@pytest.mark.parametrize("border", list(Border))
@pytest.mark.parametrize(("dtype", "channels"), [("float32", 1), ("uint8", 3)])
def test_that_a_picture_in_bands_is_bit_for_bit_the_whole(
    key: str, border: Border, dtype: str, channels: int
) -> None:
    random = np.random.default_rng(1)
    picture = (random.random((131, 70, channels)) * 255).astype(dtype)
    mask = random.random((5, 4)) - 0.5
    if key == "cpu-separable":
        mask = np.outer(mask[:, 0], mask[0])
    anywhere = {"border": border, "cval": 0.3, "anchor": (1, 3), "variant": key, "device": "cpu"}
    whole = engine.correlate(picture, mask, **anywhere)
    streamed = engine.filter_stream(picture, mask, chunk_bytes=20 * 70 * 4 * channels, **anywhere)
    assert len(streamed.timeline.chunks) == 7
    np.testing.assert_array_equal(bits(streamed.values), bits(whole))


def test_that_every_cuda_variant_gives_the_same_bits_in_bands_in_the_simulator() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.streams.bands_in_simulator"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    band_invariant = {
        v.key for v in VARIANTS if v.device is DeviceKind.CUDA and v.band_invariant and not v.library
    }
    assert {entry["variant"] for entry in found} == band_invariant
    assert {"register-blocked"} <= {entry["variant"] for entry in found if entry["dtype"] == "uint8"}
    assert [entry for entry in found if not entry["same"] or entry["chunks"] < 2] == []


def test_that_a_process_without_the_simulator_asks_one_for_each_chunk() -> None:
    picture = np.arange(12 * 5, dtype=np.float32).reshape(12, 5)
    streamed = engine.filter_stream(
        picture, [[1], [2]], device="simulator", variant="naive", chunk_bytes=6 * 5 * 4
    )
    np.testing.assert_array_equal(streamed.values, engine.correlate(picture, [[1], [2]], device="cpu"))
    assert len(streamed.timeline.chunks) == 2


def test_that_a_batch_of_unequal_pictures_comes_back_in_order_as_it_is_made() -> None:
    shapes = [(9, 4), (1, 1), (40, 7, 3), (9, 4)]
    taken: list[int] = []
    received: list[tuple[int, int]] = []

    def pictures() -> Iterator[np.ndarray]:
        for number, shape in enumerate(shapes):
            taken.append(number)
            yield np.full(shape, number, np.uint8)

    def receive(number: int, values: np.ndarray) -> None:
        received.append((number, len(taken)))
        assert values.shape == shapes[number]
        assert float(values.max()) == 2 * number

    streamed = engine.filter_stream(pictures(), [[2]], device="cpu", receive=receive, chunk_bytes=400)
    # Each was received before the next one was made.
    assert received == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert streamed.values == ()
    assert [chunk.picture for chunk in streamed.timeline.chunks] == [0, 1, *[2] * 10, 3]


def test_that_results_go_where_the_caller_wants_them() -> None:
    pictures = [np.eye(3, dtype=np.float32), np.eye(4, dtype=np.float32)]
    places = [np.full(picture.shape, np.nan, np.float32) for picture in pictures]
    streamed = engine.filter_stream(pictures, [[1, 1]], device="cpu", out=places)
    for place, values, picture in zip(places, streamed.values, pictures, strict=True):
        assert values is place
        np.testing.assert_array_equal(place, engine.correlate(picture, [[1, 1]], device="cpu"))


@pytest.mark.parametrize(
    "place", [np.empty((3, 4), np.float32), np.empty((4, 4)), np.empty((8, 4), np.float32)[::2], None]
)
def test_that_places_that_do_not_fit_are_refused(place: np.ndarray | None) -> None:
    with pytest.raises(BadValue):
        engine.filter_stream([np.eye(4)], [[1]], device="cpu", out=[] if place is None else [place])


@pytest.mark.parametrize("pictures", [[], 7, "astronaut"])
def test_that_what_is_no_batch_is_refused(pictures: object) -> None:
    with pytest.raises(BadValue):
        engine.filter_stream(pictures, [[1]], device="cpu")


@pytest.mark.parametrize("values", [{"ring": 1}, {"ring": 17}, {"ring": 2.5}, {"chunk_bytes": 0}])
def test_that_values_out_of_range_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(BadValue):
        engine.filter_stream(np.eye(3), [[1]], device="cpu", **values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"chunk_bytes": 32e6},
            r"chunks of 32000000\.0 bytes: a number of bytes is a whole number \(an int\)",
        ),
        ({"chunk_bytes": "1 MB"}, "a number of bytes is a whole number"),
        ({"chunk_bytes": 0}, "a chunk has at least 1 byte"),
        ({"ring": 4.0}, r"a ring of 4\.0.*whole number from 2 to 16"),
        ({"result": "uint8"}, "Choose one of float32, same"),
    ],
)
def test_that_a_value_of_the_wrong_kind_is_told_as_such(values: dict[str, object], words: str) -> None:
    with pytest.raises(EngineError, match=words):
        engine.filter_stream(np.eye(3), [[1]], device="cpu", **values)


def test_that_whole_numbers_of_numpy_are_taken() -> None:
    streamed = engine.filter_stream(
        np.eye(9), [[1]], device="cpu", chunk_bytes=np.int64(4 * 9 * 3), ring=np.uint8(2)
    )
    assert len(streamed.timeline.chunks) == 3


@pytest.mark.parametrize("shape", [(3, 9, 4, 1), (3, 9, 40)])
def test_that_a_stack_of_pictures_in_one_array_is_answered_with_what_to_pass(shape: tuple[int, ...]) -> None:
    stack = np.ones(shape, np.float32)
    with pytest.raises(BadValue, match=r"an array is one picture.*pass list\(array\)"):
        engine.filter_stream(stack, [[2]], device="cpu")
    assert len(engine.filter_stream(list(stack), [[2]], device="cpu").values) == 3


def test_that_one_picture_as_a_list_of_rows_is_answered_with_what_to_pass() -> None:
    with pytest.raises(BadValue, match=r"picture 1 of the batch: 1 axis.*is a list.*numpy\.array"):
        engine.filter_stream([[1, 2], [3, 4]], [[1]], device="cpu")


def test_that_one_array_for_the_results_of_a_batch_is_answered_with_what_to_pass() -> None:
    pictures, out = [np.eye(4), np.ones((4, 4))], np.empty((2, 4, 4), np.float32)
    with pytest.raises(BadValue, match=r"each picture has a result of its own.*list\(out\)"):
        engine.filter_stream(pictures, [[1]], device="cpu", out=out)
    engine.filter_stream(pictures, [[2]], device="cpu", out=list(out))
    np.testing.assert_array_equal(out, 2 * np.stack(pictures))


def test_that_messages_count_pictures_from_1() -> None:
    good = np.eye(4, dtype=np.float32)
    with pytest.raises(BadValue, match=r"^picture 2 of the batch: an array of shape"):
        engine.filter_stream([good, np.empty((0, 4))], [[1]], device="cpu")
    with pytest.raises(BadValue, match="there is none for picture 2"):
        engine.filter_stream([good, good], [[1]], device="cpu", out=[np.empty_like(good)])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"variant": "atuo"}, r"^variant 'atuo': .*Did you mean auto\?"),
        ({"variant": None}, r"^variant 'None': no variant is called that"),
        ({"result": "uint8"}, r"^results of type 'uint8': there is no such choice"),
        ({"border": "nix"}, r"^border 'nix'"),
        ({"cval": "x"}, r"^a constant border of 'x'"),
        ({"block": "3y3"}, r"^block '3y3'"),
        ({"layout": "x"}, r"^layout 'x'"),
        ({"device": "cuda:77"}, r"^device 'cuda:77'"),
        ({"checkpoint": 3}, r"^checkpoint: an int cannot be called"),
    ],
)
def test_that_what_is_wrong_with_the_call_is_not_blamed_on_a_picture(
    wrong: dict[str, object], words: str
) -> None:
    def pictures() -> Iterator[np.ndarray]:
        taken.append(1)
        yield np.eye(4, dtype=np.float32)

    taken: list[int] = []
    with pytest.raises(EngineError, match=words):
        engine.filter_stream(pictures(), [[1]], **{"device": "cpu"} | wrong)
    assert not taken


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ([None], r"^picture 1 of the batch: None: a picture is an array"),
        ([np.eye(3), None, np.eye(3)], r"^picture 2 of the batch: None: a picture is an array"),
        ([np.eye(3), {}], r"^picture 2 of the batch: a dict: a picture is an array"),
        (None, r"^The pictures: what was passed is None"),
        (b"abc", r"^The pictures: what was passed is a bytes"),
    ],
)
def test_that_what_is_no_picture_is_named(batch: object, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        engine.filter_stream(batch, [[1]], device="cpu")


def test_that_places_and_pictures_are_counted_before_the_work() -> None:
    good, places = np.eye(3, dtype=np.float32), [np.full((3, 3), np.nan, np.float32) for _ in range(3)]
    for pictures, words in (
        ([good, good], "2 pictures, but 3 arrays"),
        (good, "1 picture, but 3 arrays"),
        ([good] * 4, "4 pictures, but 3 arrays: there is none for picture 4"),
    ):
        with pytest.raises(BadValue, match=words):
            engine.filter_stream(pictures, [[1]], device="cpu", out=places)
    assert np.isnan(places).all()
    # Nobody counts a generator: it gives as many as there are pictures.
    left = iter(places)
    assert len(engine.filter_stream(iter([good, good]), [[1]], device="cpu", out=left).values) == 2
    assert next(left) is places[2]


def test_that_a_place_whose_rows_are_apart_is_named_as_that() -> None:
    good, apart = np.eye(3, dtype=np.float32), np.empty((3, 6), np.float32)[:, ::2]
    with pytest.raises(BadValue, match=r"^the array for the result of picture 2: its rows do not lie"):
        engine.filter_stream([good, good], [[1]], device="cpu", out=[np.empty_like(good), apart])


@pytest.mark.parametrize("key", [v.key for v in VARIANTS if v.key in CPU and v.integer_output])
@pytest.mark.parametrize(("dtype", "channels"), [("uint8", 3), ("uint16", 1)])
def test_that_results_of_the_pictures_type_are_bit_for_bit_those_of_the_whole(
    key: str, dtype: str, channels: int
) -> None:
    random = np.random.default_rng(4)
    picture = random.integers(0, np.iinfo(dtype).max, (90, 37, channels), dtype, endpoint=True)
    mask = np.outer([1, 3, 1], [1.5, -2, 1]) / 3
    how = {"border": "mirror", "variant": key, "device": "cpu", "result": "same"}
    whole = engine.correlate(picture, mask, **how)
    out = np.zeros_like(picture)
    streamed = engine.filter_stream(picture, mask, chunk_bytes=20 * picture[0].nbytes, out=out, **how)
    assert streamed.values is out
    assert whole.dtype == dtype
    assert [chunk.bytes_out for chunk in streamed.timeline.chunks] == [
        (chunk.bottom - chunk.top) * picture[0].nbytes for chunk in streamed.timeline.chunks
    ]
    assert len(streamed.timeline.chunks) == 5
    np.testing.assert_array_equal(out, whole)


def test_that_a_result_of_the_pictures_type_needs_a_place_and_a_variant_for_it() -> None:
    picture = np.arange(60, dtype=np.uint8).reshape(12, 5)
    with pytest.raises(BadValue, match="picture 1 needs a C-contiguous one of uint8"):
        engine.filter_stream(
            picture, [[1]], device="cpu", result="same", out=np.empty(picture.shape, np.float32)
        )
    with pytest.raises(UnsupportedVariant, match="It writes float32 results only"):
        engine.filter_stream(
            picture, [[1], [1]], device="simulator", variant="tiled-input", result="same", chunk_bytes=30
        )
    with pytest.raises(BadValue, match="results of type float64, as the picture"):
        engine.filter_stream([np.eye(3)], [[1]], device="cpu", result="same")


def test_that_a_stream_tells_its_progress_and_can_be_stopped() -> None:
    steps: list[Step] = []

    def checkpoint(step: Step) -> None:
        steps.append(step)
        if len(steps) == 5:
            raise Cancelled("Stopped")

    with pytest.raises(Cancelled):
        engine.filter_stream(np.eye(100), [[1]], device="cpu", chunk_bytes=4000, checkpoint=checkpoint)
    assert [step.fraction for step in steps] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])


def test_that_a_variant_whose_sums_run_through_the_picture_is_not_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = replace(variant("cpu-serial"), band_invariant=False)
    monkeypatch.setattr("engine.variants.auto.planner.variant", lambda key: running)
    with pytest.raises(UnsupportedVariant, match="bands"):
        engine.filter_stream(np.eye(100), [[1]], device="cpu", variant="cpu-serial", chunk_bytes=4000)
    whole = engine.filter_stream([np.eye(9), np.eye(8)], [[1]], device="cpu", variant="cpu-serial")
    assert len(whole.timeline.chunks) == 2


def test_that_auto_takes_for_bands_the_fastest_variant_that_can_be_cut() -> None:
    picture = np.random.default_rng(5).random((100, 100), np.float32)
    whole = engine.filter_stream(picture, "box:9x9", device="cpu")
    in_bands = engine.filter_stream(picture, "box:9x9", device="cpu", chunk_bytes=4000)
    assert not variant(whole.timeline.variant).band_invariant
    assert variant(in_bands.timeline.variant).band_invariant
    same = engine.correlate(picture, "box:9x9", device="cpu", variant=in_bands.timeline.variant)
    np.testing.assert_array_equal(bits(in_bands.values), bits(same))


def test_that_the_timeline_of_the_cpu_has_kernels_only_one_after_the_other() -> None:
    streamed = engine.filter_stream(np.eye(100), [[1]], device="cpu", chunk_bytes=4000)
    timeline = streamed.timeline
    assert timeline.queues == (Queue.KERNEL,)
    assert [(chunk.top, chunk.bottom) for chunk in timeline.chunks] == [
        (n, n + 10) for n in range(0, 100, 10)
    ]
    ends = [0.0, *(span.end_ms for span in timeline.spans)]
    assert all(span.begin_ms >= end for span, end in zip(timeline.spans, ends, strict=False))
    assert timeline.end_to_end_ms >= timeline.busy_ms(Queue.KERNEL)


@pytest.mark.skipif(
    any(d.key.startswith("cuda:") and d.available for d in devices()), reason="there is a GPU"
)
def test_that_pinned_memory_without_a_gpu_is_refused_in_words() -> None:
    with pytest.raises(engine.DeviceUnavailable, match=r"numpy\.empty"):
        engine.pinned_array((3, 3))


def test_that_an_array_that_cannot_take_a_result_is_refused_in_words() -> None:
    picture = np.arange(2400, dtype=np.float32).reshape(60, 40)
    read_only = np.empty_like(picture)
    read_only.flags.writeable = False
    own = np.empty_like(picture)
    cases = [
        (picture, read_only, "read-only"),
        (picture, picture, "shares memory"),
        (picture[:50], picture[10:], "shares memory"),
        ([picture, picture], [own, own], "shares memory"),
        ([picture], [3], "picture 1 is an int"),
        ([picture], [None], "picture 1 is None"),
        (picture, 5, "is an int"),
        (picture, "x", "a str"),
    ]
    for pictures, out, words in cases:
        with pytest.raises(BadValue, match=words):
            engine.filter_stream(pictures, "gaussian:5:1", device="cpu", out=out)
    assert np.array_equal(picture.ravel(), np.arange(2400))
    with pytest.raises(BadValue, match="cannot be called"):
        engine.filter_stream(picture, "gaussian:5:1", device="cpu", receive=3)


def test_that_a_large_picture_on_the_cpu_goes_in_many_chunks() -> None:
    picture = np.zeros((4096, 8192), np.float32)
    told: list[float] = []
    timeline = engine.filter_stream(
        picture, [[1, 2]], device="cpu", checkpoint=lambda step: told.append(step.fraction)
    ).timeline
    assert len(timeline.chunks) == len(told) == 32
    assert max(chunk.bytes_in for chunk in timeline.chunks) <= 4 << 20
