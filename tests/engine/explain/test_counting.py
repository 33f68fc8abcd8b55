"""What launches ask of memory: hand-counted examples, the models of work, results of the same run."""

import gc
import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from msgspec import structs

from engine.device.interpreter import InterpreterBackend
from engine.errors import Cancelled
from engine.explain import counting
from engine.explain.counting import Axis, counted_run, places, sampled
from engine.geometry.block import Layout
from engine.run.task import Choice
from engine.tasks.network.operands import trained_weights
from engine.tasks.network.task import NETWORK_VARIANTS, network_job
from engine.work.filtering.variants import variant
from engine.work.operations.contract import OPERATION_VARIANTS
from tests.engine.explain.jobs import filtering, operation, product, zeros
from tests.engine.variants.case_lists import compiled_anyhow
from tests.engine.variants.executed import is_as_modelled
from tests.picture_jobs import filter_job

# One of each sort of access: tests/engine/variants holds the models of all kernels against what they do.
LIKE_OTHERS = ("naive-uncoalesced", "tiled", "separable-l1", "cached-constant", "low-rank-2", "box")


@pytest.fixture(autouse=True)
def nothing_kept():
    """Count anew in each test."""
    counting._kept.clear()


def counted(job):
    """Return the counts of a job with one launch."""
    run = counted_run(job)
    assert run.not_counted is None, run.not_counted
    (only,) = run.passes
    return only


def of(found, array, kind="loads"):
    """Return the requests to an array."""
    return next(one.requests for one in found.arrays if (one.array, one.kind) == (array, kind))


def bytes_of(run, *names):
    """Return the bytes of some requests of all launches, which are counted, by their names."""
    assert run.not_counted is None, run.not_counted
    return [run.total(name).bytes for name in names]


# Of 512 x 512 results by warps of 32: what each request to an array takes, by hand.
WARPS = 512 * 512 // 32
EACH = [
    # One tap: nothing overlaps, no edge. Neighbours in a row are four sectors of one line; down a column they
    # are 32 of 32 lines.
    ("naive", {"mask_shape": (1, 1)}, ("image", "loads"), (WARPS, 4, 1, 1.0)),
    ("naive", {"mask_shape": (1, 1)}, ("out", "stores"), (WARPS, 4, 1, 1.0)),
    ("naive-uncoalesced", {"mask_shape": (1, 1)}, ("image", "loads"), (WARPS, 32, 32, 1 / 8)),
    ("naive-uncoalesced", {"mask_shape": (1, 1)}, ("out", "stores"), (WARPS, 32, 32, 1 / 8)),
    # A weight is one sector for all threads of a warp.
    ("naive", {}, ("weights", "loads"), (25 * WARPS, 1, 1, 4.0)),
]


def test_that_requests_take_the_sectors_and_lines_that_their_addresses_lie_in():
    for key, how, array, wanted in EACH:
        found = counted(filtering(key, (32, 8), **how))
        assert found.is_exact
        one = of(found, *array)
        each = one.requests, one.sectors_per_request, one.transactions_per_request, one.efficiency
        assert each == wanted


# Requests, and wavefronts of each. Tiles of whole warps have no bank conflicts. Of 16 threads a row, with 20
# cells, words are 0 to 15 and 20 to 35, so that 32 to 35 meet 0 to 3. Sixteen bytes a thread take four.
FRONTS = [
    ("constant", (32, 8), "constant_loads", (25 * WARPS, 1)),
    ("tiled", (32, 8), "shared_loads", (25 * WARPS, 1)),
    ("tiled", (32, 8), "shared_stores", (None, 1)),
    ("tiled", (16, 16), "shared_loads", (25 * WARPS, 2)),
    ("register-blocked", None, "shared_loads", (None, 4)),
]


@pytest.mark.slow
def test_that_requests_take_a_wavefront_for_each_word_of_a_bank():
    for key, block, name, (requests, each) in FRONTS:
        found = counted(filtering(key, block)).of(name)
        assert found.requests == (requests or found.requests)
        assert found.wavefronts_per_request == each


@pytest.mark.slow
def test_that_examples_by_hand_are_counted():
    # Weights in constant memory are asked for in no other.
    found = counted(filtering("constant", (32, 8)))
    assert {one.array for one in found.arrays if one.memory == "global"} == {"image", "out"}
    # Of five taps in a row one begins on a line, and four reach into the next sector; at both sides of the
    # picture, 32 blocks of 8 rows... two taps of one warp in 16 have ghost cells instead, and four sectors.
    found = of(counted(filtering("naive", (32, 8), (1, 5))), "image")
    assert (found.sectors, found.requests) == (512 * (16 * (4 + 4 * 5) - 4), 512 * 16 * 5)
    # Each warp comes to each barrier, and a halo makes blocks ask for more than the picture.
    found = counted(filtering("tiled", (32, 8)))
    assert found.barriers == WARPS
    picture = next(one for one in found.arrays if one.array == "image")
    assert picture.block_sectors > picture.launch_sectors == 512 * 512 * 4 // 32
    # Packed rows that begin anywhere take more sectors.
    how = {"block": (32, 8), "mask_shape": (1, 1), "width": 509}
    pitched, packed = (counted(filtering("naive", **how, layout=one)) for one in Layout)
    assert of(pitched, "image").sectors_per_request < of(packed, "image").sectors_per_request
    # Tiles of a product need a request for each tile, and four results a thread are stored at once.
    found = counted(product("matmul-tiled", 32))
    assert found.of("global_loads").requests == 2 * 2 * 64 * 64 // 32
    assert found.of("shared_loads").wavefronts_per_request == 1
    assert counted(filtering("register-blocked")).of("global_stores").sectors_per_request == 16


SHARED = "shared_loads", "shared_stores"


def count_every_block(monkeypatch):
    """Let every block of a launch be counted."""
    monkeypatch.setattr(counting, "FEW_COUNTED", 1e12)


@pytest.mark.slow
def test_that_the_bytes_asked_for_are_those_of_the_model_of_work(monkeypatch):
    count_every_block(monkeypatch)
    dtypes = set()
    for known in map(variant, LIKE_OTHERS):
        for case, _ in compiled_anyhow(known):
            if not is_as_modelled(known, case):
                continue
            dtypes.add(case.dtype)
            problem = case.problem()
            samples = zeros(case.height, case.width, case.channels, dtype=case.dtype)
            run = counted_run(filter_job(Choice(known, case.block), problem, case.mask(), samples))
            work = known.work(problem, case.block)
            assert all(one.counted_blocks == one.blocks and one.is_exact for one in run.passes)
            moved, shared = bytes_of(run, "global_loads", "global_stores"), bytes_of(run, *SHARED)
            assert moved == [work.global_load_bytes, work.global_store_bytes], (known.key, case)
            assert shared == [4 * work.shared_loads, 4 * work.shared_stores], (known.key, case)
            if known.uses_block:
                # Emitted code loads several weights at once, and some once that its source loads again.
                assert run.total("constant_loads").bytes == 4 * work.constant_loads
    assert dtypes == {"uint8", "uint16", "float32"}


@pytest.mark.slow
def test_that_the_bytes_of_a_network_are_those_of_the_model_of_work():
    for stage in NETWORK_VARIANTS.on("cuda")[::4]:
        job = network_job(stage, np.zeros((1, 28, 28), np.float32), trained_weights())
        run, work = counted_run(job), stage.work(job.problem, job.block)
        shared = 4 * work.shared_loads, 4 * work.shared_stores
        assert bytes_of(run, "global_loads", *SHARED) == [work.global_load_bytes, *shared], stage.key


# Loaded again and again in the source, once by the compiled code.
LOADED_ONCE = ("median-naive", "dct-direct")
DEPENDING = ("histogram-global", "histogram-shared", "cuda-equalise", "median-local")


@pytest.mark.slow
@pytest.mark.parametrize("key", [*LOADED_ONCE, *DEPENDING, "match-tiled"])
def test_that_operations_are_counted_unless_their_accesses_depend_on_samples(key):
    (chosen,) = [one for one in OPERATION_VARIANTS if one.key == key]
    samples = np.random.default_rng(1).integers(0, 255, (40, 48, 3), np.uint8)
    settings = {"left": 3, "top": 4, "width": 5, "height": 6} if chosen.operation == "find-patch" else {}
    job = operation(chosen, samples, **settings)
    run, work = counted_run(job), chosen.work(job.problem, job.block)
    if key in DEPENDING:
        assert run.not_counted.code == "depends-on-samples"
        return
    loaded, shared = bytes_of(run, "global_loads", "shared_loads")
    assert loaded < work.global_load_bytes if key in LOADED_ONCE else loaded == work.global_load_bytes
    assert shared == 4 * work.shared_loads


STAND_FOR = dict.fromkeys(("naive-uncoalesced", "cached-constant", "register-blocked", "tiled"), 3)
STAND_FOR |= dict.fromkeys(("constant", "tiled-input"), 9)


@pytest.mark.slow
@pytest.mark.parametrize(("key", "taps"), STAND_FOR.items())
def test_that_some_blocks_stand_for_all_others(key, taps, monkeypatch):
    # Emitted kernels have larger blocks.
    side, width = (300, 420) if key == "register-blocked" else (150, 210)
    job = filtering(key, (16, 16), (taps, taps), side=side, width=width)
    monkeypatch.setattr(counting, "FEW_COUNTED", 0)
    some = counted_run(job)
    count_every_block(monkeypatch)
    counting._kept.clear()
    every = counted_run(job)
    for one, whole in zip(some.passes, every.passes, strict=True):
        assert one.counted_blocks < one.blocks == whole.blocks == whole.counted_blocks
        assert one.barriers == whole.barriers
        for mine, theirs in zip(one.arrays, whole.arrays, strict=True):
            assert mine.requests.requests == theirs.requests.requests
            if one.is_exact:
                assert mine == theirs
            else:
                assert mine.requests.sectors == pytest.approx(theirs.requests.sectors, rel=0.002)


@pytest.mark.slow
def test_that_the_largest_masks_are_counted_in_few_blocks(monkeypatch):
    # A sixteenth of the instructions of 63 x 63, and a sixteenth of those that are counted.
    monkeypatch.setattr(counting, "MOST_COUNTED", counting.MOST_COUNTED / 16)
    found = counted(filtering("naive", (16, 16), (15, 15), side=4096))
    assert found.counted_blocks < 60
    assert found.blocks == 256 * 256


def test_that_blocks_at_both_ends_stand_for_themselves_and_all_for_the_grid():
    assert places(10, Axis(1, 2, 2)) == [(0, 1.0), (3, 4.0), (4, 3.0), (8, 1.0), (9, 1.0)]
    assert places(4, Axis(1, 2, 2)) == [(place, 1.0) for place in range(4)]
    axes = (Axis(1, 2, 2), Axis(1, 1, 1), Axis(1, 1, 1))
    assert sum(weight for _, weight, _ in sampled((100, 7, 3), axes)) == 2100


def test_that_a_launch_is_counted_once_and_stopped_counting_leaves_nothing_behind(monkeypatch):
    def stopped(progress):
        raise Cancelled("counting")

    with pytest.raises(Cancelled):
        counted_run(filtering("naive"), stopped)
    first = counted(filtering("naive"))
    monkeypatch.setattr(counting.interpreter, "run_pass", None)
    assert counted(filtering("naive")) is first


def test_that_what_is_kept_holds_no_picture(monkeypatch):
    job = filtering("naive", side=512)
    buffers = job.task.allocate(InterpreterBackend(), job)
    picture = weakref.ref(buffers.image)
    with monkeypatch.context() as within:
        within.setattr(type(job.task), "allocate", partial(lambda found, *asked: found, buffers))
        counted_run(job)
    del buffers
    gc.collect()
    assert picture() is None


def test_that_what_is_not_counted_says_why():
    for key, words in (("cpu-parallel", "It runs on the CPU"), ("fft", "kernels are not counted")):
        assert words in str(counted_run(filtering(key)).not_counted)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 3])
def test_that_kernels_of_tensor_cores_are_counted_by_words(channels):
    job = filtering("digit-sums", channels=channels, dtype="uint8")
    job = replace(job, problem=structs.replace(job.problem, result_dtype="uint8"))
    found, work = counted(job), job.variant.work(job.problem, job.block)
    # At the picture's sides threads load somewhere else what they do not need: the model leaves that out.
    assert work.global_load_bytes <= found.of("global_loads").bytes < 1.01 * work.global_load_bytes
    assert found.of("global_stores").bytes == work.global_store_bytes
    # 16 bytes a thread, side by side only where samples of a channel are.
    assert of(found, "out", "stores").sectors_per_request == (16 if channels == 1 else 32)
    if channels == 1:
        assert found.of("shared_loads").bytes == work.shared_loads
