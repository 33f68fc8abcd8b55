"""Arrays in a GPU's memory and streams: the order of work, graphs, threads, and that nothing waits."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import engine
from engine.device import cuda_memory
from engine.device.cuda_memory import check, context_of
from engine.device.numba_cuda import driver
from engine.errors import BadValue
from engine.work.filtering.variants import variant
from tests.gpu.array_kinds import (
    KINDS,
    BareInterface,
    cuda,
    cupy,
    every_library,
    host,
    is_at_work,
    rest,
    same_bits,
    torch,
    write_late,
)
from tests.gpu.test_variants_on_device import binomial_for

# Other libraries warn of what is theirs.
pytestmark = pytest.mark.filterwarnings("default")
MASK = [[1, 2, 1], [2, 5, 2], [1, 2, 3]]
# A sum of a column times a row, for two passes with values between them.
PRODUCT = np.outer([1, 2, 1], [1, 3, 1])
TWO_PASSES = {"variant": "separable-l0"}


@pytest.fixture(autouse=True)
def _no_work_left(device):
    """Have the device selected, and idle at a test's end: a failure belongs to its own test."""
    context_of(0).select()
    yield
    context_of(0).select()
    check(driver.cuCtxSynchronize())


def numbers(seed, shape=(60, 80)):
    """Return a random picture of whole numbers."""
    return np.random.default_rng(seed).integers(0, 250, shape).astype(np.float32)


def wanted_of(picture, mask=MASK, **how):
    """Return the result of the same picture on the host."""
    return engine.correlate(picture, mask, device="cuda:0", **how)


def new_stream(kind):
    """Return a stream of a library that waits for no other one."""
    return cupy.cuda.Stream(non_blocking=True) if kind.key == "cupy" else torch.cuda.Stream()


def handle(stream):
    """Return the handle of a library's stream, or of one that is its handle."""
    names = ("ptr", "cuda_stream", "handle")
    return int(next((getattr(stream, name) for name in names if hasattr(stream, name)), stream))


@contextmanager
def current(stream):
    """Make a library's stream its current one."""
    with stream if hasattr(stream, "ptr") else torch.cuda.stream(stream):
        yield


# The order of work.
@every_library
def test_that_work_queued_on_the_current_stream_comes_first(kind, device):
    picture = numbers(1)
    stream, there, source = new_stream(kind), kind.make(np.zeros_like(picture)), kind.make(picture)
    engine.correlate(there, MASK)
    host(source)
    with current(stream):
        write_late(there, source, handle(stream))
        found = engine.correlate(there, MASK)
    same_bits(found, wanted_of(picture))


def streams_of_all():
    """Return a stream of each library."""
    made = {"numba": cuda.stream()}
    made |= {"cupy": cupy.cuda.Stream(non_blocking=True)} if cupy else {}
    return made | ({"torch": torch.cuda.Stream()} if torch else {})


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.key != "jax"], ids=repr)
def test_that_work_queued_on_the_stream_that_is_given_comes_first(kind, device):
    picture = numbers(2)
    source, streams = cuda.to_device(picture), streams_of_all()
    for stream in (*streams.values(), handle(streams["numba"])):
        there, out = kind.make(np.zeros_like(picture)), kind.make(np.zeros_like(picture))
        # A protocol alone gives nothing to write to.
        how = {} if kind.key == "dlpack" else {"out": out}
        engine.correlate(there, MASK, stream=stream, **how)
        host(source)
        write_late(getattr(there, "held", there), source, handle(stream))
        found = engine.correlate(there, MASK, stream=stream, **how)
        assert kind.key == "dlpack" or is_at_work(handle(stream)), f"the call waited for {stream}"
        same_bits(getattr(found, "held", found), wanted_of(picture))


@every_library
def test_that_a_view_that_is_copied_first_is_copied_on_the_stream_that_is_given(kind, device):
    picture = numbers(3, (64, 96))
    there, source, stream = kind.make(np.zeros_like(picture)), kind.make(picture), new_stream(kind)
    engine.correlate(there[:, 1:50], MASK)
    host(source)
    write_late(there, source, handle(stream))
    found = engine.correlate(there[:, 1:50], MASK, stream=stream)
    same_bits(found, wanted_of(picture[:, 1:50].copy()))


def test_that_the_stream_that_an_array_names_is_waited_for(device):
    picture, stream, other = numbers(4), cuda.stream(), cuda.stream()
    held, source = cuda.to_device(np.zeros_like(picture)), cuda.to_device(picture)
    there = BareInterface(None, array=held.bind(stream))
    for options in ({}, {"stream": other}):
        engine.correlate(there, MASK, **options)
        held.copy_to_device(np.zeros_like(picture))
        host(source)
        write_late(held, source, int(stream.handle))
        same_bits(engine.correlate(there, MASK, **options), wanted_of(picture))


@every_library
def test_that_a_sample_that_is_not_finite_is_found_behind_queued_work(kind, device):
    picture = numbers(5)
    picture[7, 9] = np.nan
    there, source, stream = kind.make(numbers(6)), kind.make(picture), new_stream(kind)
    how = {"variant": "low-rank-2", "stream": stream}
    mask = binomial_for(variant("low-rank-2")).weights
    engine.correlate(there, mask, **how)
    write_late(there, source, handle(stream))
    with pytest.raises(engine.UnsupportedVariant):
        engine.correlate(there, mask, **how)


# Nothing waits.
@every_library
def test_that_a_call_returns_before_queued_work_ends(kind, device):
    there, stream = kind.make(numbers(1)), new_stream(kind)
    plan = engine.plan(there, MASK)
    calls = {
        "correlate": lambda: engine.correlate(there, MASK),
        "plan": lambda: plan(there),
        "view": lambda: engine.correlate(there[:, 1:50], MASK),
        "matmul": lambda: engine.matmul(there, there.T),
    }
    waited = []
    with current(stream):
        for name, call in calls.items():
            # A second time nothing is prepared or allocated.
            kept = [call(), call()]
            stream.synchronize()
            kept.clear()
            rest(handle(stream))
            kept.append(call())
            waited += [] if is_at_work(handle(stream)) else [name]
            stream.synchronize()
    assert waited == []


# Two passes with values between them, and memory that is freed.
@every_library
def test_that_two_passes_on_two_streams_at_once_do_not_mix(kind, device):
    first, second = kind.make(numbers(1)), kind.make(numbers(2))
    plan = engine.plan(first, PRODUCT, **TWO_PASSES)
    streams = new_stream(kind), new_stream(kind)
    host(plan(first))
    rest(handle(streams[0]), 50)
    found = [(plan(first, stream=streams[0]), plan(second, stream=streams[1])) for _ in range(20)]
    for one, other in found:
        same_bits(one, wanted_of(numbers(1), PRODUCT, **TWO_PASSES))
        same_bits(other, wanted_of(numbers(2), PRODUCT, **TWO_PASSES))


@every_library
def test_that_eight_threads_share_a_plan(kind, device):
    plan = engine.plan(kind.make(numbers(0)), PRODUCT, **TWO_PASSES)
    wanted = [wanted_of(numbers(seed), PRODUCT, **TWO_PASSES) for seed in range(8)]
    begin = threading.Barrier(8, timeout=60)

    def work(seed):
        with context_of(0).selected():
            there, stream = kind.make(numbers(seed)), new_stream(kind)
            host(there)
            begin.wait()
            with current(stream):
                found = [plan(there) for _ in range(40)]
            for values in found:
                same_bits(values, wanted[seed])

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, seed) for seed in range(8)]:
            done.result(timeout=100)


@every_library
@pytest.mark.parametrize("is_closed", [False, True])
def test_that_a_plan_may_be_dropped_while_its_launches_are_under_way(kind, is_closed, device):
    there, stream = kind.make(numbers(1)), new_stream(kind)
    plan = engine.plan(there, PRODUCT, **TWO_PASSES)
    host(plan(there))
    rest(handle(stream))
    found = plan(there, stream=stream)
    if is_closed:
        plan.close()
    del plan
    gc.collect()
    # Takes what was freed, and writes to it.
    taken = [cuda_memory.device_array((60, 80, 1), np.float32) for _ in range(8)]
    for array in taken:
        check(driver.cuMemsetD8Async(array.device_ctypes_pointer.value, 255, 60 * 80 * 4, 2))
    same_bits(found, wanted_of(numbers(1), PRODUCT, **TWO_PASSES))


def used_bytes():
    """Return how much of the pool's memory is in use."""
    used = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
    return int(check(driver.cuMemPoolGetAttribute(cuda_memory._pool(0)[0], used)))


def test_that_dropped_plans_leave_their_memory_to_the_next_ones(device):
    there = KINDS[0].make(numbers(1, (1000, 1000)))
    used = []
    for _ in range(6):
        plan = engine.plan(there, PRODUCT, **TWO_PASSES)
        host(plan(there))
        del plan
        gc.collect()
        used.append(used_bytes())
    assert max(used[2:]) <= used[1]


@every_library
def test_that_a_result_on_another_stream_is_not_given_away_while_it_is_read(kind, device):
    there, stream = kind.make(numbers(1)), new_stream(kind)
    host(engine.correlate(there, MASK))
    rest(handle(stream))
    first = engine.correlate(there, MASK, stream=stream)
    second = engine.correlate(first, MASK, stream=stream)
    del first
    # On the current stream: they must not be in the memory of the one that was dropped.
    others = [kind.make(np.full((60, 80), 7, np.float32)) for _ in range(4)]
    same_bits(second, wanted_of(wanted_of(numbers(1))))
    assert len(others) == 4


# Graphs.
if cupy:

    @pytest.mark.parametrize("how", [{}, TWO_PASSES], ids=["one pass", "two passes"])
    def test_that_a_plan_in_a_graph_of_cupy_filters_what_is_there_at_a_replay(how, device):
        stream = cupy.cuda.Stream(non_blocking=True)
        there, out = cupy.asarray(numbers(1)), cupy.zeros((60, 80), np.float32)
        plan = engine.plan(there, PRODUCT, **how)
        host(there)
        with stream:
            stream.begin_capture()
            try:
                plan(there, out)
            finally:
                graph = stream.end_capture()
            for seed in (2, 3):
                there.set(numbers(seed))
                host(there)
                graph.launch(stream)
                stream.synchronize()
                same_bits(out, wanted_of(numbers(seed), PRODUCT, variant=plan.variant))

    def test_that_what_cannot_be_captured_by_cupy_is_refused_in_words(device):
        stream, there = cupy.cuda.Stream(non_blocking=True), cupy.asarray(numbers(1))
        plan, of_host = engine.plan(there, MASK), engine.plan(numbers(1), MASK, device=device)
        transform, out = engine.plan(there, MASK, variant="fft"), cupy.zeros_like(there)
        cut = there[:, 1:50]
        plan_of_cut = engine.plan(cut, MASK)
        calls = {
            "correlate": lambda: engine.correlate(there, MASK),
            "plan": lambda: engine.plan(there, MASK),
            "first call": lambda: of_host(there, out),
            "fft": lambda: transform(there, out),
            "matmul": lambda: engine.matmul(there, there.T),
            "apply": lambda: engine.apply(there, MASK),
            "view": lambda: plan_of_cut(cut),
        }
        refused = {}
        with stream:
            stream.begin_capture()
            try:
                for name, call in calls.items():
                    try:
                        call()
                    except BadValue as error:
                        refused[name] = str(error)
                # The capture is not spoiled.
                plan(there, out)
            finally:
                graph = stream.end_capture()
            graph.launch(stream)
            stream.synchronize()
        assert {name for name in calls if "while a graph is captured" not in refused.get(name, "")} == set()
        same_bits(out, wanted_of(numbers(1), variant=plan.variant))


if torch:

    @pytest.mark.parametrize("how", [{}, TWO_PASSES], ids=["one pass", "two passes"])
    def test_that_a_plan_in_a_graph_of_torch_filters_what_is_there_at_a_replay(how, device):
        there = torch.from_numpy(numbers(1)).cuda()
        plan, graph = engine.plan(there, PRODUCT, **how), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = plan(there)
        for seed in (2, 3):
            there.copy_(torch.from_numpy(numbers(seed)))
            graph.replay()
            torch.cuda.synchronize()
            same_bits(found, wanted_of(numbers(seed), PRODUCT, variant=plan.variant))

    def test_that_a_call_that_prepares_is_refused_in_words_while_torch_captures(device):
        there, graph = torch.from_numpy(numbers(1)).cuda(), torch.cuda.CUDAGraph()
        plan = engine.plan(there, MASK)
        with torch.cuda.graph(graph):
            with pytest.raises(BadValue, match="while a graph is captured"):
                engine.correlate(there, MASK)
            found = plan(there)
        graph.replay()
        same_bits(found, wanted_of(numbers(1), variant=plan.variant))


# The device of the thread.
def calls_of(number):
    """Return calls of every sort that use the GPU of that number."""
    key = f"cuda:{number}"
    picture = numbers(1)
    with cuda.gpus[number]:
        there, turned = cuda.to_device(picture), cuda.to_device(picture.T.copy())
    return {
        "plan": lambda: engine.plan(picture, MASK, device=key),
        "call": lambda: engine.correlate(picture, MASK, device=key),
        "apply": lambda: engine.apply(picture, MASK, device=key, budget_s=0.01),
        "bank": lambda: engine.apply_bank(picture, [MASK], device=key, budget_s=0.01),
        "operate": lambda: engine.operate(picture.astype("uint8"), "negative", device=key, budget_s=0.01),
        "matmul": lambda: engine.matmul(picture, picture.T, device=key),
        "stream": lambda: engine.filter_stream([picture], MASK, device=key),
        "array": lambda: engine.correlate(there, MASK),
        "product": lambda: engine.matmul(there, turned),
    }


def test_that_a_thread_keeps_its_device(device):
    """With each GPU current, for calls on each GPU: with one GPU that is one pair."""
    changed = []

    def work():
        for own in range(len(cuda.gpus)):
            for number in range(len(cuda.gpus)):
                for name, call in calls_of(number).items():
                    context_of(own).select()
                    before = int(check(driver.cuCtxGetCurrent()))
                    call()
                    after = int(check(driver.cuCtxGetCurrent()))
                    changed.extend([] if after == before else [(own, number, name)])

    with ThreadPoolExecutor(1) as other:
        other.submit(work).result(timeout=100)
    assert changed == []


def test_that_a_thread_without_a_device_keeps_the_one_that_it_would_have(device):
    changed = []

    def work(number, call):
        assert int(check(driver.cuCtxGetCurrent())) == 0
        call()
        if int(check(driver.cuCtxGetCurrent())):
            changed.extend([] if int(check(driver.cuCtxGetDevice())) == 0 else [number])

    for number in range(len(cuda.gpus)):
        for call in calls_of(number).values():
            with ThreadPoolExecutor(1) as other:
                other.submit(work, number, call).result(timeout=100)
    assert changed == []
