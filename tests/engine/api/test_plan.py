"""Plans: what they compute, whose memory results are in, and what a plan refuses."""

import copy
import ctypes
import gc
import itertools
import os
import pickle
import threading
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import engine
from engine.api import plan as plan_module
from engine.api.plan import MOST_PLANS
from engine.api.request import PictureCall, request_of
from engine.device import host_memory
from engine.device.host_memory import REUSED_FROM_BYTES
from engine.errors import BadValue, EngineError, MaskError, UnknownName
from engine.geometry.block import UnsupportedVariant
from engine.geometry.border import Border
from tests.fresh_python import fresh_python

RANDOM = np.random.default_rng(5)
IMAGE = RANDOM.normal(size=(13, 11)).astype(np.float32)
MASK = RANDOM.normal(size=(3, 3))
# Its float32 results take more than REUSED_FROM_BYTES.
LARGE = (600, 601)
LARGE_BYTES = 4 * LARGE[0] * LARGE[1]
assert LARGE_BYTES > REUSED_FROM_BYTES

OPTIONS = {
    "border": "zero", "cval": 0.0, "anchor": None, "variant": "auto", "block": None, "device": "cpu",
    "flip": False, "layout": "pitched", "result": "float32",
}  # fmt: skip


def alone(image, mask, **options):
    """Return the result of a filter that is prepared for this call and not kept."""
    call = PictureCall(image, request_of(mask, tuple((OPTIONS | options).values())))
    return call.filter().reshape(call.shape)


def assert_same_bits(values, wanted):
    assert (values.shape, values.dtype) == (wanted.shape, wanted.dtype)
    assert values.tobytes() == wanted.tobytes()


def at_once(count, call):
    """Call in so many threads that begin together; return what each call returned."""
    barrier = threading.Barrier(count)

    def begin(number):
        barrier.wait(60)
        return call(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


@pytest.fixture
def no_plans():
    """Forget the plans of calls, before and afterwards."""
    plan_module._kept_plan.cache_clear()
    yield plan_module._kept_plan
    plan_module._kept_plan.cache_clear()


@pytest.fixture
def none_unused():
    """Forget memory of earlier results."""
    gc.collect()
    host_memory._reused.trim(0)


NUMBERS = np.array([[1, 2]], ">i2")
PAIRS = {
    "byte order of the picture": [(IMAGE.astype(">f4"), MASK, {}), (IMAGE.astype("<f4"), MASK, {})],
    "bytes of a picture and truths": [
        (np.eye(4, dtype=np.uint8) * 2, MASK, {"result": "same"}),
        (np.eye(4, dtype=np.uint8) > 0, MASK, {}),
    ],
    "type of the mask": [(IMAGE, NUMBERS.view(kind), {}) for kind in (">i2", "<i2", ">u2", ">f2")],
    "form of the mask": [
        (IMAGE, np.arange(1.0, 5).reshape(shape), {}) for shape in ((1, 4), (2, 2), (4, 1))
    ],
    "anchor of the mask": [(IMAGE, engine.Mask([[1, 2, 3]], (0, column)), {}) for column in range(3)],
    "offset of the mask": [(IMAGE, engine.Mask([[1, 2, 3]], None, offset), {}) for offset in (0.0, 1.5)],
    "anchor": [(IMAGE, MASK, {"anchor": anchor}) for anchor in (None, (0, 0), (1, 1), (0, 1), [2, 2])],
    "sign of zero": [
        (np.full((4, 4), -1.0, np.float32), [[1, -1]], {"border": "constant", "cval": cval})
        for cval in (0.0, -0.0, 0)
    ],
    "axes": [(image, MASK, {}) for image in (IMAGE[:3, :4], IMAGE[:3, :4, None], IMAGE[None, :3, :4])],
    "flip": [(IMAGE, MASK, {"flip": flip}) for flip in (False, True)],
    "results": [
        (np.eye(4, dtype=np.uint8), [[-1, 0.5]], {"result": result}) for result in ("float32", "same")
    ],
}  # fmt: skip


def called(image, mask, options, out=None):
    options = dict(options)
    filtered = engine.convolve if options.pop("flip", False) else engine.correlate
    return filtered(image, mask, device="cpu", out=out, **options)


def test_that_arguments_that_look_alike_have_plans_of_their_own(no_plans):
    for calls in [*PAIRS.values(), *(calls[::-1] for calls in PAIRS.values())]:
        for image, mask, options in calls:
            assert_same_bits(called(image, mask, options), alone(image, mask, **options))


@pytest.mark.slow
def test_that_threads_that_call_with_kept_plans_get_what_filters_made_for_one_call_give(no_plans):
    random = np.random.default_rng(8)
    # More than are kept: plans go and are made again.
    calls = [call for pair in PAIRS.values() for call in pair] + [
        ((random.random((9, 7, channels)) * 300).astype(dtype), random.normal(size=(channels, 5)),
         {"border": border})
        for border, dtype, channels in itertools.product(Border, ("u1", ">u2", "f4", "i2"), (1, 4))
    ]  # fmt: skip
    assert len(calls) > MOST_PLANS
    wanted = [alone(image, mask, **options) for image, mask, options in calls]

    def check(number):
        out = np.empty(wanted[number].shape, wanted[number].dtype) if number % 3 == 0 else None
        values = called(*calls[number], out)
        assert out is None or values is out
        assert_same_bits(values, wanted[number])

    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(check, random.integers(len(calls), size=400).tolist()))) == 400
    assert no_plans.cache_info().hits > 60
    assert no_plans.cache_info().misses > len(calls)


def test_that_options_and_masks_in_every_form_have_a_kept_plan(no_plans):
    forms = [
        *({"cval": cval, "border": "constant"} for cval in (np.float64(2.5), "2.5")),
        *({"anchor": anchor} for anchor in ([1, 1], (np.int64(1), True))),
        *({"block": block} for block in (engine.Block(16, 8), "16x8", np.array([16, 8]))),
        {"border": Border.WRAP, "layout": "packed"},
    ]
    masks = ("box:3", MASK.tolist(), engine.Mask(MASK), MASK.view(np.matrix), ((1, 2), (3, 4)))
    for mask, options in [*((MASK, one) for one in forms), *((mask, {}) for mask in masks)]:
        no_plans.cache_clear()
        for _ in range(3):
            assert_same_bits(called(IMAGE, mask, options), alone(IMAGE, mask, **options))
        assert no_plans.cache_info().currsize == 1


def test_that_a_mask_file_is_read_at_each_call(tmp_path):
    file = tmp_path / "mask.txt"
    for weights in ("1 2 1", "0 3 0"):
        file.write_text(weights)
        assert_same_bits(engine.correlate(IMAGE, str(file), device="cpu"), alone(IMAGE, weights))


def test_that_a_call_that_looks_like_a_kept_one_is_refused_in_words():
    for options, error, says in [
        ({"anchor": (1, 1.0)}, MaskError, "an anchor is two whole numbers"),
        ({"border": ["zero"]}, UnknownName, "Choose one of zero"),
        ({"variant": {}}, UnknownName, "no variant is called that"),
        ({"device": ["cpu"]}, BadValue, "a device is called by its key"),
        ({"result": []}, UnknownName, "Choose one of float32, same"),
        ({"layout": {}}, UnknownName, "Choose one of pitched, packed"),
    ]:
        engine.correlate(IMAGE, MASK, anchor=(1, 1), device="cpu")
        with pytest.raises(error, match=says):
            engine.correlate(IMAGE, MASK, **{"device": "cpu"} | options)


def test_that_the_last_plans_are_kept_and_no_more(no_plans):
    options = ("zero", 0.0, None, "auto", None, "cpu", False, "pitched", "float32")
    first = weakref.ref(plan_module._plan_for(IMAGE, [[0.5]], options))
    assert first() is not None
    for number in range(MOST_PLANS):
        engine.correlate(IMAGE, [[1.0 + number]], device="cpu")
    gc.collect()
    assert first() is None
    assert no_plans.cache_info().currsize == MOST_PLANS


REFERENCES = (
    lambda values: values[5:9, ::2],
    lambda values: values.view(np.int32)[::3],
    lambda values: memoryview(values)[7:9],
    np.from_dlpack,
    lambda values: values.flat,
    lambda values: (ctypes.c_char * values.nbytes).from_buffer(values),
)


def test_that_a_result_stays_while_anything_refers_to_its_memory(none_unused):
    images = [np.full(LARGE, value, np.uint8) for value in range(1, 5)]
    filtered = engine.plan(images[0], [[1]], device="cpu")
    for refer in REFERENCES:
        values = filtered(images[0])
        first, last = values.ctypes.data, values.ctypes.data + values.nbytes
        held = refer(values)
        del values
        # All of it takes half a second in a process that has run many tests.
        gc.collect(1)
        others = [filtered(image) for image in images[1:]]
        for other in others:
            assert other.ctypes.data >= last or other.ctypes.data + other.nbytes <= first
        # Each sample is 1.0.
        counts = np.bincount(np.array(held).view(np.uint8).reshape(-1))
        assert np.flatnonzero(counts).tolist() == [0, 0x3F, 0x80]
        del held, others, other


def test_that_memory_that_nothing_refers_to_is_used_again(none_unused):
    image = np.ones(LARGE, np.uint8)
    plan = engine.plan(image, [[1]], device="cpu")
    for filtered in (plan, lambda one: engine.correlate(one, [[2]], device="cpu")):
        addresses = set()
        for _ in range(5):
            values = filtered(image)
            addresses.add(values.ctypes.data)
            del values
        assert len(addresses) == 1


def test_that_threads_never_share_the_memory_of_results_that_are_alive(none_unused):
    filtered = engine.plan(np.empty(LARGE, np.uint8), [[1]], device="cpu")

    def call(number):
        image = np.full(LARGE, number, np.uint8)
        kept = []
        for step in range(6):
            kept.append(filtered(image))
            if step % 3 == 2:
                del kept[0]
        return kept

    for number, results in enumerate(at_once(4, call)):
        assert all((values == number).all() for values in results)


@pytest.mark.slow
@pytest.mark.parametrize("variant", [one.key for one in engine.list_variants() if one.device == "cpu"])
def test_that_threads_share_one_plan(variant):
    mask, how = "box:3", {"border": "wrap", "device": "cpu", "variant": variant}
    filtered = engine.plan(np.empty((150, 170), np.uint8), mask, **how)
    images = [RANDOM.integers(0, 256, (150, 170), np.uint8) for _ in range(8)]
    wanted = [alone(image, mask, **how) for image in images]
    found = at_once(8, lambda number: [filtered(images[number]) for _ in range(20)])
    for values, right in zip(found, wanted, strict=True):
        assert {one.tobytes() for one in values} == {right.tobytes()}


FORKED = """
import os, signal, threading
import numpy as np
import engine
from engine.host.shared_picture import level_shapes, render

picture = np.arange(700 * 700, dtype=np.uint32).astype(np.uint8).reshape(700, 700)
mask = engine.parse_mask("1 2 1; 0 0 0; -1 -2 -1")
plan = engine.plan(picture, mask, device="cpu")

def made():
    levels = [np.zeros(shape, np.uint8) for shape in level_shapes(700, 700)]
    render(picture[..., np.newaxis], levels, 255.0)
    others = (engine.correlate(picture, mask, device="cpu", variant=key) for key in ("auto", "cpu-fft"))
    return levels[0], plan(picture), *others

# What is imported while a process is forked its child waits for.
answers, over = made(), threading.Event()

def call():
    while not over.is_set():
        plan(picture)
        engine.correlate(picture, mask, device="cpu")

callers = [threading.Thread(target=call) for _ in range(2)]
for caller in callers:
    caller.start()
found = []
for _ in range(4):
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(not all(map(np.array_equal, made(), answers)))
    found.append(os.waitpid(child, 0)[1])
over.set()
for caller in callers:
    caller.join()
print(found)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_that_a_child_that_was_forked_during_calls_can_call_its_parents_plan():
    assert fresh_python("-W", "ignore", "-c", FORKED) == f"{[0] * 4}\n"


@pytest.mark.slow
def test_that_calls_leave_nothing_in_memory():
    image = np.ones((16, 16), np.uint8)
    filtered = engine.plan(image, MASK, device="cpu")

    def calls(count):
        for _ in range(count):
            filtered(image)
            engine.correlate(image, MASK, device="cpu")
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = calls(300)
        # A byte a call would be 4,000.
        assert calls(2_000) - before < 2_000
    finally:
        tracemalloc.stop()


def test_that_a_plan_says_what_runs():
    like = np.empty((30, 20, 3), np.uint8)
    filtered = engine.plan(like, MASK, device="cpu", result="same", variant="cpu-parallel")
    assert (filtered.variant, filtered.device.key, filtered.reason) == ("cpu-parallel", "cpu", None)
    assert repr(filtered) == "Plan(cpu-parallel on cpu, uint8 (30, 20, 3) to uint8)"
    reason = engine.plan(like, MASK, device="cpu").reason
    assert "estimated" in reason.short


@pytest.mark.parametrize("made_anew", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_that_a_plan_is_made_anew_where_it_is_copied_or_sent_to_another_process(made_anew):
    image = IMAGE.astype(np.float64)
    with engine.plan(image, MASK, border="mirror", flip=True, device="cpu") as plan:
        other = made_anew(plan)
        assert (repr(other), other is plan) == (repr(plan), False)
        expected = plan(image)
    assert np.array_equal(other(image), expected)
    with pytest.raises(BadValue, match="its memory was freed"):
        made_anew(plan)


@pytest.mark.parametrize("send", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_that_variants_are_sent_by_their_names(send):
    assert [send(one) for one in engine.list_variants()] == list(engine.list_variants())


def test_that_a_closed_plan_is_refused_in_words():
    with engine.plan(IMAGE, MASK, device="cpu") as filtered:
        prepared = weakref.ref(filtered._prepared)
        filtered(IMAGE)
    assert prepared() is None
    with pytest.raises(BadValue, match=r"its memory was freed\. Make another one with engine\.plan"):
        filtered(IMAGE)


OUT = np.zeros(IMAGE.shape, np.float32)
READ_ONLY = OUT.copy()
READ_ONLY.flags.writeable = False
ODD = np.empty(OUT.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(OUT.shape)
SHARED = np.zeros((14, 11), np.float32)


def test_that_what_is_not_as_planned_is_refused_in_words():
    for image, out, says in [
        (IMAGE[:5], None, r"of shape \(5, 11\): the plan is for \(13, 11\)\. Pass one of that shape"),
        (IMAGE[..., None], None, r"a picture of shape \(13, 11, 1\): the plan is for"),
        (IMAGE.astype(np.uint8), None, "a picture of uint8: the plan was made for float32. Make a plan for"),
        (IMAGE, OUT[:5], r"an array out of shape \(5, 11\)"),
        (IMAGE, OUT.astype(np.float64), "an array out of float64: the result is float32. Pass an array of"),
        (IMAGE, OUT.astype(">f4"), "an array out of >f4: the result is float32"),
        (IMAGE, np.asfortranarray(OUT), "its samples do not lie one after another. Pass a C-contiguous"),
        (IMAGE, READ_ONLY, "it is read-only. Pass a C-contiguous array that can be written"),
        (IMAGE, ODD, "its samples do not begin at multiples of their size"),
        (IMAGE, np.ma.masked_array(OUT), "A masked array out: its mask would hide results"),
        (IMAGE, OUT.tolist(), "out of list: a result goes into an array. Pass an ndarray"),
        (SHARED[:-1], SHARED[1:], "it shares memory with the picture"),
    ]:
        filtered = engine.plan(IMAGE, MASK, device="cpu")
        with pytest.raises(EngineError, match=says) as caught:
            filtered(image, out)
        assert all((caught.value.what, caught.value.why, caught.value.remedy))


def test_that_a_picture_in_another_order_may_share_the_memory_of_its_result():
    """It is copied before anything is written."""
    memory = RANDOM.normal(size=(11, 11)).astype(np.float32)
    wanted = alone(memory.T.copy(), MASK)
    assert_same_bits(engine.correlate(memory.T, MASK, device="cpu", out=memory), wanted)


def test_that_a_variant_that_spreads_nan_refuses_it_at_each_call():
    image = RANDOM.random((40, 40)).astype(np.float32)
    filtered = engine.plan(image, MASK, device="cpu", variant="cpu-fft")
    filtered(image)
    image[3, 4] = np.nan
    with pytest.raises(UnsupportedVariant, match="cpu-fft"):
        filtered(image)
    image[3, 4] = 0
    filtered(image)
