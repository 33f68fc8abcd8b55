"""`engine.filter_dask`: the bits of the whole picture, lazily, whatever the chunks are."""

import os
import signal

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from dask.callbacks import Callback
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine.errors import BadValue, DeviceUnavailable, EngineError, UnknownName
from engine.geometry.block import UnsupportedVariant
from engine.geometry.border import Border
from engine.work.filtering.variants import variant as variant_named
from tests.engine.cluster.started import two_workers
from tests.fresh_python import fresh_python
from tests.pairwise import by_pairs

SIDE = 33
RANDOM = np.random.default_rng(7)
FLOATS = RANDOM.normal(size=(SIDE, SIDE)).astype(np.float32)
BYTES = RANDOM.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
COLUMN_TIMES_ROW = np.outer(RANDOM.normal(size=4), RANDOM.normal(size=3))
IN_CHUNKS = [one.key for one in engine.list_variants() if one.device == "cpu" and one.band_invariant]
WHOLE_ONLY = [one for one in engine.list_variants() if not one.band_invariant]
CPU = {"device": "cpu"}


@pytest.fixture(autouse=True)
def threads():
    """Compute on Dask's threads, as it does by itself, whatever a client of another test left."""
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@st.composite
def lengths(draw):
    """Chunks of one side, of any lengths: at most six, so that there are no more than 36."""
    found = []
    while (left := SIDE - sum(found)) > 0:
        found.append(draw(st.integers(min(left, 1 + 2 * len(found)), left)))
    return tuple(found)


def computed(picture, mask, chunks, **options):
    """Return what Dask computes."""
    return engine.filter_dask(da.from_array(picture, chunks=chunks), mask, **options).compute()


def assert_same_bits(values, wanted):
    assert (values.shape, values.dtype) == (wanted.shape, wanted.dtype)
    assert values.tobytes() == wanted.tobytes()


@st.composite
def masks(draw):
    """Masks of even and odd sides, and of any anchor."""
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    weights = np.arange(1.0, rows * columns + 1).reshape(rows, columns) / 7
    return engine.Mask(weights, (draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))))


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(border=st.sampled_from(Border), rows=lengths(), columns=lengths(), mask=masks())
def test_that_bits_are_those_of_the_whole_with_any_chunks(border, rows, columns, mask):
    how = {"border": border, "cval": 2.5 * (border == "constant"), "variant": "cpu-parallel"}
    values = computed(FLOATS, mask, (rows, columns), **how)
    assert_same_bits(values, engine.correlate(FLOATS, mask, **how))


@pytest.mark.slow
@by_pairs(
    border=list(Border),
    variant=IN_CHUNKS,
    chunks=[(10, 10), (1, -1), (-1, 1), ((5, 9, 19), (30, 3))],
    dtype=["uint8", "uint16", "float32"],
    result=["float32", "same"],
    channels=[1, 3],
)
def test_that_every_variant_keeps_its_bits(border, variant, chunks, dtype, result, channels):
    picture = (RANDOM.random((SIDE, SIDE, channels)) * 200).astype(dtype)
    how = {"border": border, "cval": 3.0 * (border == "constant"), "variant": variant, "anchor": (0, 2)}
    values = computed(picture, COLUMN_TIMES_ROW, (*chunks, 1), **how, result=result)
    assert_same_bits(values, engine.correlate(picture, COLUMN_TIMES_ROW, **how, result=result))


@pytest.mark.slow
@by_pairs(border=list(Border), shape=[(63, 63), (1, 127), (127, 1), (40, 3)])
def test_that_a_mask_may_be_larger_than_the_array(border, shape):
    mask = RANDOM.normal(size=shape)
    how = {"border": border, "variant": "cpu-parallel"}
    assert_same_bits(computed(FLOATS, mask, 7, **how), engine.correlate(FLOATS, mask, **how))


def test_that_flips_other_types_and_odd_chunks_have_the_bits_of_the_whole():
    for picture, mask, chunks, how in [
        (BYTES, COLUMN_TIMES_ROW, 10, {"flip": True, "variant": "cpu-parallel"}),
        (FLOATS.astype(np.float64), [[1, 2]], 10, {"variant": "cpu-serial"}),
        # Chunks without cells are left out.
        (BYTES, "box:3", ((0, 20, 0, 13), 20, 3), {"variant": "cpu-parallel"}),
        *((BYTES, "box:9", -1, {"variant": one.key}) for one in WHOLE_ONLY if one.device == "cpu"),
    ]:
        whole = engine.convolve if "flip" in how else engine.correlate
        values = computed(picture, mask, chunks, **how)
        assert_same_bits(values, whole(picture, mask, variant=how["variant"]))


def test_that_chunks_type_and_shape_are_known_before_anything_is_computed():
    chunks = (20, 4, 9), (9, 24)
    assert engine.filter_dask(da.zeros((SIDE, SIDE), chunks=chunks), "box:3").chunks == chunks
    joined = engine.filter_dask(da.zeros((SIDE, SIDE), chunks=((20, 1, 1, 9, 2), -1)), "box:3")
    assert (min(joined.chunks[0]) >= 3, joined.shape) == (True, (SIDE, SIDE))
    lazy = engine.filter_dask(da.from_array(BYTES, chunks=10), "box:3", result="same")
    assert (lazy.shape, lazy.dtype, lazy._meta.dtype) == (BYTES.shape, np.uint8, np.uint8)


def test_that_nothing_is_computed_before_compute():
    computed_chunks = []

    def chunk(block_id=None):
        computed_chunks.append(block_id)
        return np.zeros((11, 11), np.float32)

    picture = da.map_blocks(chunk, chunks=((11,) * 3,) * 2, dtype=np.float32, meta=FLOATS[:0, :0])
    lazy = engine.filter_dask(picture, "box:3", **CPU)
    assert not computed_chunks
    # Its own chunk and the three beside it.
    lazy[:5, :5].compute()
    assert len(computed_chunks) == 4


def test_that_the_choice_is_made_once_for_all_chunks_and_a_request_keeps_its_name():
    done = []
    with Callback(posttask=lambda key, *rest: done.append(str(key))):
        computed(FLOATS, "box:3", 10, **CPU)
    assert sum(key.startswith("chosen_for_chunks") for key in done) == 1
    first, second = (engine.filter_dask(da.zeros((99, 99), chunks=20), "box:3", **CPU) for _ in range(2))
    assert first.name == second.name


ONE_CORE = """
import sys, threading
import engine; engine.correlate([[1, 2]], [[1]], device='cpu'); engine.filter_dask
print({'dask', 'distributed'} & set(sys.modules))
import dask.array as da, numpy as np
picture = da.from_array(np.zeros((2048, 1024), np.float32), chunks=1024)
engine.filter_dask(picture, np.ones((9, 9)), device="cpu").compute(scheduler="threads")
engine.filter_dask(picture, [{"operation": "gradient-magnitude"}], device="cpu").compute(scheduler="threads")
print([thread.name for thread in threading.enumerate() if thread.name == "cpu-band"])
"""


@pytest.mark.slow
def test_that_the_engine_loads_no_dask_by_itself_and_tasks_start_no_threads_of_the_engine():
    assert fresh_python("-c", ONE_CORE).split() == ["set()", "[]"]


# Refusals


def zeros(*shape, dtype=np.float32, chunks=10):
    return da.zeros(shape, dtype=dtype, chunks=chunks)


def test_that_a_variant_of_whole_pictures_is_refused_with_the_reason():
    for variant in [one.key for one in WHOLE_ONLY]:
        with pytest.raises(UnsupportedVariant, match="sums run through the whole picture") as refused:
            engine.filter_dask(zeros(SIDE, SIDE), "box:9", variant=variant)
        assert refused.value.refusal.code == "not-in-bands"


UNKNOWN = zeros(SIDE, SIDE)[zeros(SIDE) > 1]
NOT_SEPARABLE = [[1, 2], [3, 5]], {"variant": "cpu-separable"}


def operation(key, **how):
    return {"mask": [{"operation": key, **how}]}


def test_that_what_cannot_be_done_is_said_at_the_call():
    for array, options, error, words in [
        (FLOATS, {}, BadValue, r"ndarray.*is none of Dask.*from_array.*engine\.correlate"),
        (UNKNOWN, {}, BadValue, r"chunks of unknown size.*compute_chunk_sizes"),
        (zeros(SIDE), {}, BadValue, "an array of 1 axis"),
        (zeros(SIDE, 0), {}, BadValue, "no pixels"),
        (zeros(9, 9, 5), {}, BadValue, "1 to 4 channels"),
        (zeros(9, 9, dtype=complex), {}, BadValue, "only real numbers"),
        (zeros(9, 9, dtype=np.float64), {"result": "same"}, BadValue, "results of type float64"),
        (zeros(9, 9), {"result": "int"}, UnknownName, "there is no such choice"),
        (zeros(9, 9), {"border": "nearest"}, UnknownName, "SciPy"),
        (zeros(9, 9), {"border": "constant", "cval": 1e99}, BadValue, "not a finite number"),
        (zeros(9, 9), {"variant": "cpu-paralel"}, UnknownName, "cpu-parallel"),
        (zeros(9, 9), {"device": "simulator"}, BadValue, "not made for speed"),
        (zeros(9, 9), {"mask": "no-such-mask"}, EngineError, "no-such-mask"),
        (zeros(9, 9), operation("histogram"), BadValue, "Take an operation that gives a picture"),
        (zeros(9, 9), operation("medain"), UnknownName, "Did you mean median"),
        (zeros(9, 9), operation("median", settings={"size": 4}), BadValue, "one of 3, 5"),
        (zeros(9, 9), operation("median", variant="cpu-negative"), EngineError, "cpu-negative"),
        (zeros(9, 9), operation("hue-shift"), BadValue, "channel"),
    ]:
        with pytest.raises(error, match=words):
            engine.filter_dask(array, options.pop("mask", "box:3"), **options)


def test_that_what_is_found_on_a_worker_is_said_by_compute():
    with_nan = FLOATS.copy()
    with_nan[20, 30] = np.nan
    in_one = da.from_array(with_nan, chunks=-1)
    at = r"on the chunk \(0, 0\) with its halo: Row 20, column 30"
    for array, mask, options, error, words in [
        (zeros(SIDE, SIDE), "box:3", {"device": "cuda:77"}, DeviceUnavailable, "cuda:77"),
        (zeros(SIDE, SIDE), *NOT_SEPARABLE, UnsupportedVariant, "Not separable"),
        (in_one, COLUMN_TIMES_ROW, {"variant": "cpu-fft"}, UnsupportedVariant, at),
    ]:
        lazy = engine.filter_dask(array, mask, **options)
        with pytest.raises(error, match=words):
            lazy.compute()


# Operations


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "chunks", "dtype"),
    [
        (("negative", {}), 10, "uint16"),
        (("desaturate", {}), ((20, 13), (3, 30), 2), "uint8"),
        (("hue-shift", {"degrees": 100}), (1, -1, 1), "float32"),
        (("median", {"size": 3}), (1, -1, 1), "uint8"),
        (("maximum", {"size": 3}), ((20, 13), (3, 30), 2), "float32"),
    ],
)
def test_that_an_operation_gives_the_picture_of_the_whole(work, chunks, dtype):
    operation, parameters = work
    picture = (BYTES / (255 if dtype == "float32" else 1)).astype(dtype)
    wanted = engine.operate(picture, operation, **CPU, budget_s=0.0, **parameters).picture
    step = {"operation": operation, "settings": parameters}
    assert_same_bits(computed(picture, [step], chunks, **CPU), wanted)


# Chains


STEPS = (
    {"mask": "gaussian:5:1", "border": "mirror"},
    {"mask": "4 1 1; 0 -2 7", "border": "reflect"},
    {"mask": "sobel-x", "border": "constant", "cval": 3.5},
    {"mask": "box:3", "border": "zero"},
    {"operation": "maximum", "settings": {"size": 3}},
    {"operation": "negative"},
    {"operation": "gradient-magnitude"},
    {"combine": "subtract", "second": "picture"},
)


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=lengths(),
    columns=lengths(),
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4).filter(lambda steps: "mask" in steps[0]),
    picture=st.sampled_from([FLOATS / 9, BYTES, BYTES[..., 0].astype(np.uint16)]),
)
def test_that_any_chain_has_the_bits_of_the_whole(rows, columns, steps, picture):
    chunks = (rows, columns, 1)[: picture.ndim]
    wanted = engine.chain(picture, steps, **CPU, budget_s=0.0)
    # The variants that `auto` takes for the whole: it may take others for chunks.
    steps = [
        step | ({} if "combine" in step else {"variant": by.variant})
        for step, by in zip(steps, wanted.steps, strict=True)
    ]
    if any("mask" in step and variant_named(step["variant"]).band_invariant is False for step in steps):
        return
    assert_same_bits(computed(picture, steps, chunks, **CPU), wanted.values)


WRAPS_ONCE = [{"mask": "box:3", "border": "wrap"}, {"mask": "box:3"}]


@pytest.mark.parametrize("steps", [[{"operation": "equalise"}], WRAPS_ONCE])
def test_that_a_chain_of_the_whole_picture_is_refused_in_chunks_and_done_in_one(steps):
    with pytest.raises(BadValue, match=r"depends on the whole picture.*rechunk\(-1\)"):
        engine.filter_dask(zeros(SIDE, SIDE), steps)
    assert_same_bits(
        computed(BYTES, steps, -1, **CPU), engine.chain(BYTES, steps, **CPU, budget_s=0.0).values
    )


def test_that_a_chain_that_wraps_throughout_and_a_ready_one_are_done_in_chunks_with_borders_of_their_own():
    masks = "5 1 2; 0 1 3", "sobel-y"
    wraps = [{"mask": mask, "border": "wrap", "variant": "cpu-parallel"} for mask in masks]
    for chain, chunks in [(wraps, 9), ("sobel-magnitude", 20)]:
        wanted = engine.chain(BYTES, chain, **CPU, budget_s=0.0)
        assert_same_bits(computed(BYTES, chain, chunks, **CPU), wanted.values)
    with pytest.raises(BadValue, match="border='mirror' with a chain"):
        engine.filter_dask(zeros(SIDE, SIDE), "sobel-magnitude", border="mirror")


# Schedulers


@pytest.fixture(scope="module")
def client():
    """Return a client of two processes with two threads each."""
    with two_workers(threads=2) as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.mark.slow
def test_that_a_killed_worker_costs_its_own_tasks_again(client, tmp_path):
    flag = tmp_path / "flag"
    flag.touch()

    def killed_once(chunk, block_id):
        if block_id == (1, 1):
            try:
                os.unlink(flag)
            except FileNotFoundError:
                return chunk
            os.kill(os.getpid(), signal.SIGKILL)
        return chunk

    picture = da.from_array(FLOATS, chunks=11).map_blocks(killed_once, dtype=np.float32)
    lazy = engine.filter_dask(picture, COLUMN_TIMES_ROW, variant="cpu-parallel")
    values = client.compute(lazy).result()
    assert not flag.exists()
    assert_same_bits(values, engine.correlate(FLOATS, COLUMN_TIMES_ROW, variant="cpu-parallel"))
    client.wait_for_workers(2, timeout=60)


@pytest.mark.slow
def test_that_a_refusal_crosses_the_line_in_words(client):
    mask, options = NOT_SEPARABLE
    with pytest.raises(UnsupportedVariant, match="Not separable"):
        client.compute(engine.filter_dask(zeros(SIDE, SIDE), mask, **options)).result()


@pytest.mark.slow
def test_that_a_worker_says_that_it_has_too_little_memory():
    # A worker within this process, which is larger than the limit: Dask must not pause it for that.
    watching = {
        f"distributed.worker.memory.{step}": False for step in ("target", "spill", "pause", "terminate")
    }
    how = {"n_workers": 1, "processes": False, "memory_limit": "20 MB", "dashboard_address": ":0"}
    with (
        dask.config.set(watching),
        distributed.LocalCluster(**how) as workers,
        distributed.Client(workers) as client,
        pytest.raises(BadValue, match="and a worker has"),
    ):
        client.compute(engine.filter_dask(zeros(2000, 2000, chunks=2000), "box:3", **CPU)).result()


def test_that_the_name_of_before_says_what_does_it_now():
    with pytest.raises(AttributeError, match="operate_dask'; filter_dask takes an operation as a step"):
        _ = engine.operate_dask
