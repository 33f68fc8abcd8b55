"""An ablation: steps, words and data; altered kernels lack one cost and read nothing that is not theirs."""

import json

import numpy as np
import pytest

from bench.ncu import TEACHING
from engine.device.interpreter import ptx_of, run_pass
from engine.device.launches import Operand
from engine.device_info import SIMULATOR
from engine.errors import Cancelled
from engine.explain import ablation_runs
from engine.explain.ablation_results import (
    ON_PURPOSE,
    OVERLAPPING,
    Ablation,
    Altered,
    Cost,
    ablation_document,
    ablation_sentences,
    most_sentence,
)
from engine.explain.ablation_runs import ablated, rows_around, without
from engine.explain.examples import example_of
from engine.explain.instructions import InstructionClass as Class
from engine.explain.kernel_code import ptx_listing
from engine.explain.messages import AblationJob
from engine.geometry.block import Block, UnsupportedVariant
from engine.geometry.border import Border
from engine.host.request import Run
from engine.mask.generators import gaussian
from engine.ptx import Array
from engine.results.measurement import Spread
from engine.run.task import Choice
from engine.work.filtering.variants import variant
from tests.engine.variants.case_lists import one_case
from tests.engine.variants.emitted import needs_nvvm
from tests.picture_jobs import filter_job, mask_request


def made(whole_ms, **without_ms):
    """Return an ablation with these medians, by the names of the costs."""
    altered = [
        Altered(cost, kernel=Spread((without_ms[cost.name],))) if cost.name in without_ms else Altered(cost)
        for cost in Cost
    ]
    whole = Altered(kernel=Spread((whole_ms,)))
    return Ablation("naive", "Naive", Block(32, 8), "cuda:0", "Made GPU", whole, tuple(altered))


MADE = made(4.0, BORDER_TEST=3.0, STORES=3.5)


def test_that_a_step_is_the_kernels_time_or_instructions_less_those_of_the_altered_one():
    assert [(step.begin, step.end) for step in MADE.steps()] == [(4.0, 0.0), (4.0, 3.0), (3.0, 2.5), (2.5, 0)]
    altered = (Altered(Cost.STORES, instructions=49.0),)
    found = Ablation("naive", "Naive", Block(8, 8), "", "sm_90", Altered(instructions=50.0), altered)
    assert [(step.begin, step.end) for step in found.steps()] == [(50.0, 0.0), (50.0, 49.0), (49.0, 0.0)]
    document = json.loads(json.dumps(ablation_document(MADE)))
    assert document["saves"] == {"border-test": 1.0, "stores": 0.5}
    assert (document["unit"], document["whole"]["kernel"]["samples_ms"]) == ("ms", [4.0])
    assert {one["without"]: one["why_not"] for one in document["altered"]}["barrier"] == "It has no barrier."


def test_that_the_words_name_the_cost_that_takes_most_and_say_what_is_hidden_or_overlaps():
    assert most_sentence(MADE) == "Most is taken by the border test: 1.00 ms of 4.00 ms, 25.0 %."
    assert "each is hidden behind another" in most_sentence(made(4.0, BORDER_TEST=4.5, STORES=4.0))
    assert OVERLAPPING in ablation_sentences(made(4.0, BORDER_TEST=1.0, STORES=2.0))
    assert OVERLAPPING not in ablation_sentences(MADE)
    assert ablation_sentences(MADE)[-1] == ON_PURPOSE


@pytest.fixture
def without_gpu(monkeypatch):
    """Let there be no device but the CPU."""
    cpu = [one for one in ablation_runs.devices() if one.key == "cpu"]
    monkeypatch.setattr(ablation_runs, "devices", lambda: cpu)
    monkeypatch.setattr("engine.device.devices.devices", lambda: cpu)


def asked(picture, key, report=lambda step: None, **more):
    """Return what the window is answered."""
    how = {"mask": gaussian(5), "border": Border.CONSTANT} | more
    job = mask_request(AblationJob, picture=picture, variant=key, **how)
    return ablation_runs.run(Run(job), report)


@needs_nvvm
@pytest.mark.slow
def test_that_without_a_gpu_instructions_are_counted_until_it_is_stopped(picture, without_gpu):
    def stop(step):
        if step.stage == "counting without picture loads":
            raise Cancelled("The run was stopped")

    found = asked(picture, "naive", device="cpu")
    assert (found.device, found.is_timed) == ("", False)
    amounts = {step.altered.cost: step.amount for step in list(found.steps())[:-1]}
    # The border is tested at each of the 25 taps.
    assert amounts.pop(Cost.BORDER_TEST) > max(one for cost, one in amounts.items() if cost is not None)
    with pytest.raises(Cancelled):
        asked(picture, "naive", stop)


def test_that_what_has_no_altered_kernels_says_why(picture, without_gpu):
    for key, words in (("cpu-serial", "has no CUDA kernels of ours"), ("register-blocked", "are emitted")):
        found = asked(picture, key)
        assert words in found.reason
        assert not found.altered
    with pytest.raises(UnsupportedVariant, match="1,024 threads per block"):
        asked(picture, "naive", block=Block(64, 64))


HAVE_BARRIER = {key for key in TEACHING if variant(key).block_covers_input} | {
    "tiled", "cached", "cached-constant", "separable-l1", "separable-l2", "implicit-gemm",
    "row-tiled", "row-cached", "row-tiled-constant", "row-cached-constant",
}  # fmt: skip
# What an altered kernel may hardly have more or fewer of than its kernel: neither is part of its cost.
KEPT = {
    Cost.BORDER_TEST: (Class.LOAD_GLOBAL, Class.STORE_GLOBAL, Class.LOAD_SHARED, Class.BARRIER),
    Cost.PICTURE_LOADS: (Class.STORE_GLOBAL, Class.LOAD_SHARED, Class.LOAD_CONSTANT, Class.BARRIER),
    Cost.WEIGHT_LOADS: (Class.STORE_GLOBAL, Class.LOAD_SHARED, Class.STORE_SHARED, Class.BARRIER),
    Cost.STORES: (Class.LOAD_GLOBAL, Class.LOAD_SHARED, Class.LOAD_CONSTANT, Class.BARRIER),
    Cost.BARRIER: (Class.LOAD_GLOBAL, Class.STORE_GLOBAL, Class.LOAD_SHARED, Class.LOAD_CONSTANT),
}


# Of these NVVM unrolls loops otherwise where the border test is gone, but for this mask and border: the tests
# of bounds and of the command have them too.
UNROLLED = "naive-uncoalesced", "tiled", "cached", "cached-constant", "separable-l1"


def job_of(key, side=9, width=None):
    """Return the job of a teaching kernel on a random picture: its code is that of other tests."""
    known, how = variant(key), {"height": side, "width": width or side}
    if key in UNROLLED:
        how |= {"mask_shape": (3, 3), "anchor": None, "border": Border.ZERO, "block": Block(16, 16)}
    case = one_case(known, **how)
    return filter_job(Choice(known, case.block), case.problem(), case.mask(), case.picture())


def altered_kernels_of(job):
    found = {cost: without(job.passes, cost) for cost in Cost}
    return {cost: passes for cost, passes in found.items() if passes is not None}


@pytest.mark.slow
def test_that_a_kernel_has_an_altered_one_for_each_cost_that_it_has_and_stays_as_it_is():
    for key in TEACHING:
        job = job_of(key)
        before = [step.kernel.py_func.__code__ for step in job.passes]
        expected = set(Cost) if key in HAVE_BARRIER else set(Cost) - {Cost.BARRIER}
        assert set(altered_kernels_of(job)) == expected, key
        assert [step.kernel.py_func.__code__ for step in job.passes] == before
    # Nothing is taken out of a kernel whose accesses are emitted.
    for key in ["register-blocked", "low-rank-2", "box", "separable-fused"]:
        passes = example_of(variant(key)).passes()
        assert None in [without(passes, cost) for cost in (Cost.PICTURE_LOADS, Cost.STORES)]


# The code.


def classes_of(passes):
    """Return the instructions of kernels, or of altered ones, by class."""
    counts = [ptx_listing(ptx_of(one), one.kernel.py_func.__name__, "sm_90").counts for one in passes]
    return {kind: sum(one.by_class.get(kind, 0) for one in counts) for kind in Class}


# Compiling an altered kernel takes 0.3 s: each has one of each module. Of kernels that other tests look at
# all; of the others that without border test of each that reads other cells. `-m matrix` has all.
OF_ALL = "naive", "tiled", "separable-l0"
WITHOUT_TEST = "naive-uncoalesced tiled-input cached separable-l1 separable-l2 implicit-gemm row-naive"
ALTERED = {
    Cost.BORDER_TEST: f"{WITHOUT_TEST} row-tiled row-cached",
    Cost.PICTURE_LOADS: "cached-constant row-constant",
    Cost.WEIGHT_LOADS: "constant row-tiled-constant row-cached",
    Cost.STORES: "row-cached-constant",
    Cost.BARRIER: "cached separable-l1 implicit-gemm",
}


def each_kernel(test):
    """Run a test of the altered kernels of a kernel, which it is given without those that are left out."""
    cases = [pytest.param(key, False, id=key) for key in TEACHING]
    cases += [pytest.param(key, True, id=f"all of {key}", marks=pytest.mark.matrix) for key in TEACHING]
    return pytest.mark.slow(needs_nvvm(pytest.mark.parametrize(("key", "has_all"), cases)(test)))


def some_altered(job, has_all):
    """Return the altered kernels of a job that are compiled."""
    key, found = job.variant.key, altered_kernels_of(job)
    return {cost: found[cost] for cost in found if has_all or key in (*OF_ALL, *ALTERED[cost].split())}


@each_kernel
def test_that_exactly_one_cost_is_gone_from_the_code(key, has_all):
    job = job_of(key, 64)
    whole, altered = classes_of(job.passes), some_altered(job, has_all)
    assert altered
    for cost, passes in altered.items():
        found = classes_of(passes)
        for kind in KEPT[cost]:
            # Loads of one weight that are written twice may become one.
            assert found[kind] == pytest.approx(whole[kind], abs=3), (cost, kind)
        assert is_gone(cost, found, whole), cost


def is_gone(cost, found, whole):
    """Return whether a class of instructions is gone, or as few are left as the cost's absence leaves."""
    has_constant = whole[Class.LOAD_CONSTANT] > 0
    if cost is Cost.BORDER_TEST:
        return found[Class.CONTROL] < whole[Class.CONTROL]
    if cost is Cost.PICTURE_LOADS:
        # What is left are weights; the addresses of cells are still formed.
        wide = found[Class.INTEGER_64] / whole[Class.INTEGER_64]
        return (
            found[Class.LOAD_GLOBAL] < whole[Class.LOAD_GLOBAL]
            and 0.95 < wide < 1.05
            and (not has_constant or found[Class.LOAD_GLOBAL] == 0)
        )
    if cost is Cost.WEIGHT_LOADS:
        fewer = whole[Class.LOAD_GLOBAL] - found[Class.LOAD_GLOBAL]
        return found[Class.LOAD_CONSTANT] == 0 and (has_constant or fewer > 0)
    if cost is Cost.STORES:
        return (
            found[Class.STORE_GLOBAL] == whole[Class.STORE_GLOBAL]
            and found[Class.CONTROL] > whole[Class.CONTROL]
        )
    return found[Class.BARRIER] == 0 < whole[Class.BARRIER]


# The addresses.


def interpreted(job, passes, rows=0):
    """Return the result of passes, with rows of other memory around each array, and what is found."""
    height, width, channels = job.operands.shape
    shape = height + 2 * rows, job.layout.row_pixels(width, channels, 4), channels
    arrays = {}
    for argument in (Operand.IMAGE, Operand.SCRATCH, Operand.OUT):
        dtype = job.operands.dtype if argument is Operand.IMAGE else np.float32
        memory = np.full(shape, np.nan if argument is Operand.OUT else 1, dtype)
        inner = memory[rows : rows + height]
        arrays[argument] = Array(str(argument), inner, around=memory)
    arrays[Operand.IMAGE].values[:, :width] = job.operands
    found = [one for step in passes for one in run_pass(step, arrays, counted=False).findings]
    return arrays[Operand.OUT].values[:, :width], found


@each_kernel
def test_that_altered_kernels_stay_within_their_arrays_without_border_test_and_the_rows_around(key, has_all):
    for cost in some_altered(job_of(key), has_all):
        has_test = cost is not Cost.BORDER_TEST
        for height, width in [(33, 17)] if has_test else [(9, 9), (33, 17), (5, 40), (2, 3)]:
            job = job_of(key, height, width)
            rows = 0 if has_test else rows_around(job.problem, job.block)
            out, found = interpreted(job, without(job.passes, cost), rows)
            assert "outside" not in {one.kind for one in found}, cost
            # Stores that are not made leave the result as it was.
            assert np.isnan(out).all() == (cost is Cost.STORES), cost


@pytest.mark.slow
def test_that_the_simulator_counts_every_altered_kernel_and_gives_no_time():
    # Of two passes; the tests of the command have one with a barrier.
    job = job_of("separable-l0")
    found = ablated(job, SIMULATOR, 0.0)
    counted_ones = [one.cost for one in found.altered if one.instructions is not None]
    assert counted_ones == list(altered_kernels_of(job))
    assert all(one.kernel is None for one in found.altered)
