"""`engine.filter_dask` and `operate_dask`: the bits of the whole picture, lazily, whatever the chunks are."""

import pickle
import threading

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine.api import plan as plan_module
from engine.cluster import chunk_tasks, extra
from engine.cluster.cuts import Cut, cut
from engine.device.core_count import most_launch_cores
from engine.errors import BadValue, DeviceUnavailable, EngineError, UnknownName
from engine.geometry.border import Border
from engine.geometry.refusal import Refusal, UnsupportedVariant
from engine.work.filtering.request import FilterRequest
from tests.fresh_python import fresh_python

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
    """Chunks of one side, of any lengths."""
    found = []
    while (left := SIDE - sum(found)) > 0:
        found.append(draw(st.integers(1, left)))
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
@pytest.mark.parametrize("border", Border)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=lengths(), columns=lengths(), mask=masks())
def test_that_bits_are_those_of_the_whole_with_any_chunks(border, rows, columns, mask):
    how = {"border": border, "cval": 2.5 * (border == "constant"), "variant": "cpu-parallel"}
    values = computed(FLOATS, mask, (rows, columns), **how)
    assert_same_bits(values, engine.correlate(FLOATS, mask, **how))


@pytest.mark.slow
@pytest.mark.parametrize("border", Border)
@pytest.mark.parametrize("variant", IN_CHUNKS)
@pytest.mark.parametrize("chunks", [10, (1, -1), (-1, 1), ((5, 9, 19), (30, 3))])
def test_that_every_variant_keeps_its_bits(variant, border, chunks):
    how = {"border": border, "cval": -1.0 * (border == "constant"), "variant": variant, "anchor": (0, 2)}
    values = computed(FLOATS, COLUMN_TIMES_ROW, chunks, **how)
    assert_same_bits(values, engine.correlate(FLOATS, COLUMN_TIMES_ROW, **how))


@pytest.mark.slow
@pytest.mark.parametrize("variant", IN_CHUNKS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("result", ["float32", "same"])
def test_that_types_and_channels_are_those_of_correlate(variant, dtype, result):
    picture = (RANDOM.random((61, 47, 3)) * 200).astype(dtype)
    how = {"variant": variant, "result": result, "border": "mirror"}
    values = computed(picture, COLUMN_TIMES_ROW, (16, 20, 1), **how)
    assert_same_bits(values, engine.correlate(picture, COLUMN_TIMES_ROW, **how))


@pytest.mark.parametrize("border", Border)
@pytest.mark.parametrize("shape", [(63, 63), (1, 127), (127, 1), (40, 3)])
def test_that_a_mask_may_be_larger_than_the_array(border, shape):
    mask = RANDOM.normal(size=shape)
    how = {"border": border, "variant": "cpu-parallel"}
    assert_same_bits(computed(FLOATS, mask, 7, **how), engine.correlate(FLOATS, mask, **how))


def test_that_wide_pictures_keep_their_bits_where_columns_are_cut():
    picture = RANDOM.normal(size=(40, 2500)).astype(np.float32)
    values = computed(picture, COLUMN_TIMES_ROW, (40, 611), variant="cpu-parallel")
    assert_same_bits(values, engine.correlate(picture, COLUMN_TIMES_ROW, variant="cpu-parallel"))


def test_that_flip_makes_it_a_convolution():
    values = computed(BYTES, COLUMN_TIMES_ROW, 10, flip=True, variant="cpu-parallel")
    assert_same_bits(values, engine.convolve(BYTES, COLUMN_TIMES_ROW, variant="cpu-parallel"))


def test_that_other_real_types_become_float32():
    picture = FLOATS.astype(np.float64)
    assert_same_bits(
        computed(picture, [[1, 2]], 10, variant="cpu-serial"),
        engine.correlate(picture, [[1, 2]], variant="cpu-serial"),
    )


@pytest.mark.parametrize("variant", [one.key for one in WHOLE_ONLY if one.device == "cpu"])
def test_that_one_chunk_takes_every_variant(variant):
    values = computed(BYTES, "box:9", -1, variant=variant)
    assert_same_bits(values, engine.correlate(BYTES, "box:9", variant=variant))


def test_that_chunks_without_cells_are_left_out():
    assert_same_bits(
        computed(BYTES, "box:3", ((0, 20, 0, 13), 20, 3), **CPU, variant="cpu-parallel"),
        engine.correlate(BYTES, "box:3", variant="cpu-parallel"),
    )


def test_that_chunks_stay_as_they_are_where_they_are_long_enough():
    lazy = engine.filter_dask(da.zeros((SIDE, SIDE), chunks=((20, 4, 9), (9, 24))), "box:3")
    assert lazy.chunks == ((20, 4, 9), (9, 24))


def test_that_chunks_that_are_too_short_are_joined():
    lazy = engine.filter_dask(da.zeros((SIDE, SIDE), chunks=((20, 1, 1, 9, 2), -1)), "box:3")
    assert lazy.chunks == ((20, 13), (SIDE,))


def test_that_type_and_shape_are_known_before_anything_is_computed():
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


def test_that_the_choice_is_made_once_for_all_chunks():
    done = []
    with Callback(posttask=lambda key, *rest: done.append(str(key))):
        computed(FLOATS, "box:3", 10, **CPU)
    assert sum(key.startswith("settle") for key in done) == 1


def test_that_mask_and_settings_are_in_the_graph_once():
    def size(side):
        lazy = engine.filter_dask(da.zeros((500, 500), dtype=np.float32, chunks=100), np.ones((side, side)))
        return len(cloudpickle.dumps(dict(lazy.dask)))

    assert size(61) - size(3) < 61 * 61 * 8 + 1000


def test_that_the_same_request_has_the_same_name():
    first, second = (engine.filter_dask(da.zeros((99, 99), chunks=20), "box:3", **CPU) for _ in range(2))
    assert first.name == second.name


@pytest.fixture
def no_plans():
    """Forget the plans of calls, before and afterwards."""
    plan_module._kept_plan.cache_clear()
    yield plan_module._kept_plan
    plan_module._kept_plan.cache_clear()


def test_that_chunks_of_one_shape_share_a_plan(no_plans):
    # Threads that begin together may each make the plan of a shape.
    with dask.config.set(scheduler="synchronous"):
        computed(np.zeros((40, 40), np.float32), "box:3", 8, device="cpu")
    # The corners, the upper and lower edges, those at the sides, and the others.
    assert no_plans.cache_info().misses == no_plans.cache_info().currsize == 4
    assert no_plans.cache_info().hits == 21


def test_that_a_task_uses_one_core(monkeypatch):
    found, filtered = set(), chunk_tasks.filtered

    def noted(*arguments):
        found.add(most_launch_cores())
        return filtered(*arguments)

    monkeypatch.setattr(chunk_tasks, "filtered", noted)
    computed(FLOATS, "box:3", 10, **CPU)
    assert found == {1}


def test_that_a_plan_of_all_cores_is_no_plan_of_a_task(no_plans):
    picture = np.zeros((300, 300), np.float32)
    engine.correlate(picture, "box:3", device="cpu", variant="cpu-parallel")
    computed(picture, "box:3", -1, device="cpu", variant="cpu-parallel")
    assert no_plans.cache_info().currsize == 2


ONE_CORE = """
import threading
import dask.array as da, numpy as np, engine
picture = da.from_array(np.zeros((4096, 2048), np.float32), chunks=2048)
engine.filter_dask(picture, np.ones((9, 9)), device="cpu").compute(scheduler="threads")
engine.operate_dask(picture, "median", device="cpu").compute(scheduler="threads")
print([thread.name for thread in threading.enumerate() if thread.name == "cpu-band"])
"""


@pytest.mark.slow
def test_that_tasks_start_no_threads_of_the_engine():
    assert fresh_python("-c", ONE_CORE).strip() == "[]"


# Refusals


def zeros(*shape, dtype=np.float32, chunks=10):
    return da.zeros(shape, dtype=dtype, chunks=chunks)


@pytest.mark.parametrize("variant", [one.key for one in WHOLE_ONLY])
def test_that_a_variant_of_whole_pictures_is_refused_with_the_reason(variant):
    with pytest.raises(UnsupportedVariant, match="sums run through the whole picture") as refused:
        engine.filter_dask(zeros(SIDE, SIDE), "box:9", variant=variant)
    assert refused.value.refusal.code == "not-in-bands"


UNKNOWN = zeros(SIDE, SIDE)[zeros(SIDE) > 1]


@pytest.mark.parametrize(
    ("array", "options", "error", "words"),
    [
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
    ],
)
def test_that_what_cannot_be_done_is_said_at_the_call(array, options, error, words):
    with pytest.raises(error, match=words):
        engine.filter_dask(array, options.pop("mask", "box:3"), **options)


def test_that_a_device_that_a_worker_lacks_is_named_by_compute():
    lazy = engine.filter_dask(zeros(SIDE, SIDE), "box:3", device="cuda:77")
    with pytest.raises(DeviceUnavailable, match="cuda:77"):
        lazy.compute()


def test_that_a_mask_that_the_variant_cannot_take_is_refused_once():
    lazy = engine.filter_dask(zeros(SIDE, SIDE), [[1, 2], [3, 5]], variant="cpu-separable")
    with pytest.raises(UnsupportedVariant, match="Not separable"):
        lazy.compute()


def test_that_nan_is_refused_in_the_task_of_a_variant_that_would_spread_it():
    picture = FLOATS.copy()
    picture[20, 30] = np.nan
    with pytest.raises(UnsupportedVariant, match=r"on the part from row 0, column 0: Row 20, column 30"):
        computed(picture, RANDOM.normal(size=(5, 5)), -1, variant="cpu-fft")


def test_that_a_refused_part_is_where_it_begins_with_its_halo():
    def work(chunk):
        raise UnsupportedVariant("variant 'x'", Refusal("not-finite", "NaN in row 0"))

    settled = chunk_tasks.Settled(work, Cut((10, 10), 1, 2), Cut((10, 10), 3, 0, wraps=True))
    with pytest.raises(UnsupportedVariant, match="from row 9, column -3"):
        settled.of_chunk(FLOATS, 1, 0)


def test_that_nan_stays_where_it_is():
    picture = FLOATS.copy()
    picture[10, 10] = np.nan
    values = computed(picture, "box:3", 10, variant="cpu-parallel")
    assert_same_bits(values, engine.correlate(picture, "box:3", variant="cpu-parallel"))


def test_that_a_border_that_depends_on_the_size_is_refused():
    class Other:
        @staticmethod
        def rule(index, length):
            return index if 0 <= index < length else length // 2

    with pytest.raises(BadValue, match="depend on the size of the picture"):
        cut((10, 10), (1, 1), Other())


def test_that_a_chunk_larger_than_a_workers_memory_is_refused(monkeypatch):
    distributed = pytest.importorskip("distributed")

    class Worker:
        class memory_manager:  # noqa: N801 - as `distributed` names it
            memory_limit = 1000

    monkeypatch.setattr(distributed, "get_worker", Worker)
    with pytest.raises(BadValue, match=r"chunks of 33 × 33: one takes .* a worker has 1e-06 GB"):
        computed(FLOATS, "box:3", -1, **CPU)


def test_that_a_missing_dask_is_said_in_words(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(extra, "import_module", missing)
    with pytest.raises(
        EngineError, match=r"An array in chunks needs Dask: pip install 'haloscope\[cluster\]'"
    ):
        engine.filter_dask(FLOATS, "box:3")


@pytest.mark.slow
def test_that_the_engine_and_a_filter_load_no_dask():
    code = (
        "import sys, engine; engine.correlate([[1, 2]], [[1]], device='cpu'); engine.filter_dask;"
        "print({'dask', 'distributed'} & set(sys.modules))"
    )
    assert fresh_python("-c", code).strip() == "set()"


# Operations


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [10, (1, -1, 1), ((20, 13), (3, 30), 2)])
@pytest.mark.parametrize(
    ("operation", "parameters"),
    [("negative", {}), ("desaturate", {}), ("hue-shift", {"degrees": 100}), ("median", {"size": 5})],
)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_that_an_operation_gives_the_picture_of_the_whole(operation, parameters, dtype, chunks):
    picture = BYTES.astype(dtype) / 255 if dtype == "float32" else BYTES.astype(dtype)
    picture = picture.astype(dtype)
    lazy = engine.operate_dask(da.from_array(picture, chunks=chunks), operation, **CPU, **parameters)
    wanted = engine.operate(picture, operation, **CPU, budget_s=0.0, **parameters).picture
    assert_same_bits(lazy.compute(), wanted)


def test_that_grey_arrays_stay_grey():
    lazy = engine.operate_dask(da.from_array(BYTES[..., 0], chunks=10), "median", **CPU)
    assert_same_bits(lazy.compute(), engine.operate(BYTES[..., 0], "median", **CPU).picture)


@pytest.mark.parametrize("operation", ["histogram", "equalise", "find-patch", "compress"])
def test_that_an_operation_on_the_whole_picture_is_refused(operation):
    with pytest.raises(BadValue, match=r"more of the picture than a window.*engine\.operate"):
        engine.operate_dask(zeros(SIDE, SIDE), operation)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"operation": "medain"}, UnknownName, "Did you mean median"),
        ({"operation": "median", "size": 4}, BadValue, "one of 3, 5"),
        ({"operation": "median", "variant": "cpu-negative"}, EngineError, "cpu-negative"),
        ({"operation": "median", "device": "simulator"}, BadValue, "not made for speed"),
        ({"operation": "hue-shift"}, BadValue, "channel"),
    ],
)
def test_that_an_operation_is_refused_at_the_call(options, error, words):
    with pytest.raises(error, match=words):
        engine.operate_dask(zeros(SIDE, SIDE), **options)


# Schedulers


@pytest.mark.slow
def test_that_processes_of_dask_give_the_same_bits():
    values = engine.filter_dask(da.from_array(FLOATS, chunks=20), COLUMN_TIMES_ROW, variant="cpu-parallel")
    with dask.config.set(num_workers=2):
        found = values.compute(scheduler="processes")
    assert_same_bits(found, engine.correlate(FLOATS, COLUMN_TIMES_ROW, variant="cpu-parallel"))


@pytest.fixture(scope="module")
def client():
    """Return a client of two processes with two threads each."""
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as found:
        yield found


def _threads_and_plans():
    names = [thread.name for thread in threading.enumerate()]
    return names.count("cpu-band"), plan_module._kept_plan.cache_info().hits


@pytest.mark.slow
def test_that_a_cluster_gives_the_same_bits(client):
    lazy = engine.filter_dask(da.from_array(BYTES, chunks=10), COLUMN_TIMES_ROW, variant="cpu-parallel")
    values = client.compute(lazy).result()
    assert_same_bits(values, engine.correlate(BYTES, COLUMN_TIMES_ROW, variant="cpu-parallel"))


@pytest.mark.slow
def test_that_a_worker_has_no_threads_but_its_own_and_keeps_plans(client):
    lazy = engine.filter_dask(da.zeros((3000, 3000), dtype=np.float32, chunks=500), "box:9", **CPU)
    client.compute(lazy.sum()).result()
    found = client.run(_threads_and_plans)
    assert all(threads == 0 and hits > 0 for threads, hits in found.values())


@pytest.mark.slow
def test_that_a_refusal_crosses_the_line_in_words(client):
    lazy = engine.filter_dask(zeros(SIDE, SIDE), [[1, 2], [3, 5]], variant="cpu-separable")
    with pytest.raises(UnsupportedVariant, match="Not separable"):
        client.compute(lazy).result()


@pytest.mark.slow
def test_that_a_worker_says_that_it_has_too_little_memory(client):
    with pytest.raises(BadValue, match="and a worker has"):
        client.compute(engine.filter_dask(zeros(10**6, 10**6, chunks=10**6), "box:3", **CPU)).result()


def test_that_the_work_of_a_chunk_can_be_sent():
    work = chunk_tasks.FilterWork(FilterRequest(mask=engine.preset("sobel-x")))
    assert pickle.loads(pickle.dumps(work)) == work
