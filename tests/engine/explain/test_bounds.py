"""Bounds of runs on the CPU and a GPU, the words on them, and what the window is answered.

And the claim of docs/bounds.md: bounds reach half of the time in most kept runs, and none is above it.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import asdict

from bench.ncu import TEACHING, executed
from engine.device import devices as device_list
from engine.device.device_list import cpu_info
from engine.errors import Cancelled
from engine.explain import counting, kernel_code, why
from engine.explain.device_limits import MOST_SHARE, DeviceLimits, Limit
from engine.explain.kept_limits import recorded_limits
from engine.explain.launches import ABSENT_GPUS, DEFAULT
from engine.explain.messages import TimeRequest
from engine.explain.why import LEAST_SHARE, cpu_time, explained_by
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.mask.presets import resolve_mask
from engine.process import launch_cores
from engine.run.task import Choice
from engine.variants.cpu.register_tiles import VECTOR
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS, MaskClass, variant
from engine.work.operations.contract import OPERATION_VARIANTS
from tests.engine.explain.jobs import operation, product, zeros
from tests.engine.variants.emitted import needs_nvvm
from tests.picture_jobs import filter_job, mask_job

CPU_LIMITS = DeviceLimits(
    "CPU", Limit(3e10), Limit(2e11), Limit(1e11), core_multiply_adds_per_s=Limit(5e10),
    launches_per_s=Limit(1e6), scalar_multiply_adds_per_s=Limit(8e9),
    converted_multiply_adds_per_s=Limit(6e9), vector_operations_per_s=Limit(1e10),
    vector_loads_per_s=Limit(6e9), vector_stores_per_s=Limit(3e9),
    cores=launch_cores(), vector_bits=32 * VECTOR,
)  # fmt: skip
# A new one says in `loops` what its loops do.
COMPILED = tuple(one.key for one in VARIANTS.on("cpu") if not one.library)


def cpu_job(key, side=5, dtype="float32", result="float32", shape=(256, 320, 1)):
    """Return what is explained: a variant with a mask that it takes."""
    chosen = variant(key, takes_auto=False)
    weights = np.random.default_rng(1).random((side, side))
    if chosen.masks is MaskClass.PRODUCTS:
        # Symmetric, as most masks are.
        line = np.hanning(side + 2)[1:-1]
        weights = np.outer(line, line)
    elif chosen.masks is MaskClass.EQUAL_WEIGHTS:
        weights = np.full((side, side), 1 / side**2)
    mask = Mask(weights)
    samples = np.broadcast_to(np.zeros((), dtype), shape)
    problem = describe_problem(samples, mask, Border.ZERO, 0.0, result)
    return filter_job(Choice(chosen, chosen.default_block), problem, mask, samples)


SORTS = [(3, "float32"), (17, "uint8"), (5, "uint16"), (9, "float32"), (3, "uint8")]


@pytest.mark.slow
def test_that_loops_make_the_multiply_adds_of_the_model_of_work():
    # Each variant with two sides of masks and types of pictures.
    for number, key in enumerate(key for key in COMPILED if key != "cpu-box"):
        for side, dtype in (SORTS[number % 5], SORTS[(number + 1) % 5]):
            job = cpu_job(key, side, dtype)
            modelled = job.variant.work(job.problem, job.block).flops / 2 / job.problem.samples
            loops = [asdict(one).items() for one in cpu_time(job, CPU_LIMITS).loops]
            made = sum(value for loop in loops for name, value in loop if name.endswith("multiply_adds"))
            added_first = side // 2 if key == "cpu-separable" and dtype != "float32" else 0
            # Rows that two bands share are taken twice.
            assert modelled - added_first <= made <= 1.5 * modelled, (key, side, dtype)
    # Of a box a weight and two additions for each sample, three for each digit of its width to the base 4.
    for side, digits in {3: 1, 15: 2, 63: 3}.items():
        whole = sum(one.operations for one in cpu_time(cpu_job("cpu-box", side), CPU_LIMITS).loops)
        assert 3 + 3 * digits - 1 <= whole <= 1.6 * (4 + 6 * digits)


@pytest.mark.slow
def test_that_bounds_follow_from_amounts_and_rates_the_tallest_first_and_passes_take_no_less():
    for key in COMPILED:
        found = cpu_time(cpu_job(key), CPU_LIMITS)
        times = [one.ms for one in found.bounds]
        assert times == sorted(times, reverse=True)
        assert min(times) > 0
        assert times == pytest.approx([1e3 * one.amount / one.per_s for one in found.bounds], rel=1e-12)
        # Sums of the same terms in another order.
        assert found.least_ms >= times[0] * (1 - 1e-12)


@pytest.mark.slow
def test_that_each_rate_bounds_its_own_work():
    # Core rates of half of all cores, whatever number of them there is here: this variant has one thread.
    limits = replace(CPU_LIMITS, cores=2)
    found = {one.key: one for one in cpu_time(cpu_job("cpu-serial"), limits).bounds}
    assert found["scalar-multiply-adds"].per_s == CPU_LIMITS.scalar_multiply_adds_per_s.measured / 2
    assert found["scalar-multiply-adds"].amount == 256 * 320 * 25
    # A call comes before the work.
    small = cpu_time(cpu_job("cpu-serial", 3, shape=(4, 4, 1)), CPU_LIMITS)
    assert small.bounds[0].key == "launch"
    assert small.least_ms > small.bounds[0].ms == 1e-3
    # A limit that was not measured gives no bound, and a library is bounded by its bytes alone.
    limits = replace(CPU_LIMITS, scalar_multiply_adds_per_s=None, launches_per_s=None)
    for found in (cpu_time(cpu_job("cpu-serial"), limits), cpu_time(cpu_job("cpu-fft", 17), CPU_LIMITS)):
        assert {one.key for one in found.bounds} == {"copy"}


@pytest.mark.slow
def test_that_the_reason_on_a_cpu_names_the_tallest_bound_and_a_variant_that_does_less():
    job = cpu_job("cpu-serial")
    explained, _ = explained_by(job, cpu_info(), CPU_LIMITS, cpu_time(job, CPU_LIMITS).least_ms / 0.6)
    assert explained.sentence.startswith("Bound by multiply-adds one at a time, 25 for each result. ")
    assert "60.0 % of the time" in explained.sentence
    assert explained.remedy == "cpu-parallel"
    # A product that is taken as any mask.
    separable = cpu_job("cpu-separable", 15, shape=(512, 512, 1))
    job = replace(separable, variant=variant("cpu-parallel", takes_auto=False))
    explained, _ = explained_by(job, cpu_info(), CPU_LIMITS, None)
    assert explained.remedy == "cpu-separable"
    assert "`cpu-separable` makes 30 instead of 225 multiply-adds" in explained.sentence
    # The best variant is told of no other.
    assert explained_by(cpu_job("cpu-parallel", 5), cpu_info(), CPU_LIMITS, None)[0].remedy == ""


@pytest.mark.slow
def test_that_a_limit_that_a_run_exceeded_is_measured_again_and_then_left_out(monkeypatch):
    job, kept = cpu_job("cpu-parallel", 5), []
    low = replace(CPU_LIMITS, multiply_adds_per_s=Limit(1.0))
    monkeypatch.setattr(why, "limits_of", lambda device: low)
    monkeypatch.setattr(why, "keep", lambda device, limits: kept.append(limits))
    measured_ms = 2 * cpu_time(job, CPU_LIMITS).least_ms
    # What is measured again is right: nothing is left out.
    monkeypatch.setattr(why, "answer", lambda request, report: CPU_LIMITS)
    found = why.explained_time(job, cpu_info(), measured_ms)
    assert found.bounds == cpu_time(job, CPU_LIMITS).bounds
    assert kept.pop() == CPU_LIMITS
    # It is as low as before.
    monkeypatch.setattr(why, "answer", lambda request, report: low)
    found = why.explained_time(job, cpu_info(), measured_ms)
    assert "multiply-adds" not in {bound.key for bound in found.bounds}
    assert found.share <= 1.03
    assert kept.pop().multiply_adds_per_s is None


def needs_ptx(test):
    """Mark a test of what is counted in PTX."""
    return pytest.mark.slow(needs_nvvm(test))


RESULTS = Path(__file__).parents[3] / "bench/results"
CELLS = {"bounds-cpu": 60, "bounds-gpu": 150}
# Those of an H200, which came with the program.
GPU_LIMITS = recorded_limits()
GPU = ABSENT_GPUS[DEFAULT]


def gpu_job(key, mask="gaussian:5", side=2048):
    """Return what is explained: a float32 picture in grey."""
    chosen, mask = variant(key), resolve_mask(mask)
    samples = zeros(side, side, 1)
    problem = describe_problem(samples, mask, Border.ZERO, 0.0, "float32")
    return filter_job(Choice(chosen, chosen.default_block), problem, mask, samples)


def on_gpu(key, share=None, **asked):
    """Return the words on a run whose time the bounds explain to some part, else of one without a time."""
    job = gpu_job(key, **asked)
    found, _ = explained_by(job, GPU, GPU_LIMITS, None)
    return explained_by(job, GPU, GPU_LIMITS, found.least_ms / share)[0] if share else found


def test_that_kept_bounds_reach_half_of_the_time_in_four_of_five_cells_and_none_is_above_it():
    for name, least in CELLS.items():
        for run in json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["runs"]:
            ratios = [one["ratio"] for one in run["cells"]]
            assert len(ratios) >= least
            assert sum(LEAST_SHARE <= one <= 1 for one in ratios) >= 0.8 * len(ratios)
            assert max(ratios) <= MOST_SHARE
            # Times are kept to 10 ns, ratios to three digits.
            assert ratios == pytest.approx([one["least_ms"] / one["ms"] for one in run["cells"]], abs=2e-3)


# The cell of a mask and a block whose code other tests count too.
SHARED_CODE = {"cached-constant": 1, "cached": 1, "tiled": 1, "separable-l1": 1, "tiled-input": 6}
SHARED_CODE |= dict.fromkeys(("row-tiled", "row-cached", "row-tiled-constant", "row-cached-constant"), 3)


@needs_ptx
def test_that_no_kernel_is_counted_with_more_instructions_than_were_executed():
    for number, key in enumerate(TEACHING):
        # One of nine cells of a mask and a block, another one of most; `bench.ncu --limiters` does all.
        cell = SHARED_CODE.get(key, number % 9)
        found = [*executed(key, cell.__eq__)]
        assert found
        assert all(0.65 <= one <= 1.0 for one in found), key


CAUSES = [
    ("naive-uncoalesced", "gaussian:9", 2048, "Bound by L1: a request takes ",
     "neighbouring threads read lines far apart", "naive"),
    ("register-blocked", "gaussian:3", 4096, "Memory-bound: ", "", ""),
    ("separable-fused", "gaussian:3", 4096, "Memory-bound: ", "", ""),
    ("tiled", "gaussian:3", 32, "Bound by a launch of ", "picture is small", ""),
    ("separable-l0", "gaussian:3", 32, "Bound by 2 launches, each of ", "", ""),
]  # fmt: skip


@needs_ptx
def test_that_the_tallest_bound_is_named_with_what_removes_it():
    for key, mask, side, begin, words, remedy in CAUSES:
        found = on_gpu(key, mask=mask, side=side)
        assert found.sentence.startswith(begin)
        assert words in found.sentence
        assert found.remedy == remedy
    # And what a kernel saves against another one.
    assert on_gpu("cached", 1.0).saves.startswith("Against `tiled`: ")
    found = on_gpu("naive", 0.85)
    assert found.sentence.startswith("Issue-bound: ")
    assert " of them on 64-bit integers. That takes at least 85.0 % of the time. `" in found.sentence
    assert f" `{found.remedy}` reads " in found.sentence
    assert found.sentence.endswith(" instead of 25 cells per result.")


def test_that_bounds_that_reach_less_than_half_explain_nothing():
    found = on_gpu("naive", 0.4)
    assert found.bounds[0].title in found.sentence
    assert "40.0 % of the time" in found.sentence
    assert (found.not_explained.code, found.remedy) == ("bounds-too-low", "")
    found, _ = explained_by(cpu_job("cpu-fft", 17), cpu_info(), CPU_LIMITS, 100.0)
    assert "at least 0.0" in found.sentence
    assert found.not_explained.code == "bounds-too-low"


@needs_ptx
def test_that_a_limit_that_the_run_exceeded_gives_no_bound():
    tallest = on_gpu("naive").bounds[0]
    found = on_gpu("naive", 1.1)
    assert tallest.key not in {bound.key for bound in found.bounds}
    assert found.least_ms <= 1.03 * found.measured_ms
    assert "Left out: " in found.sentence
    # A little above the time is all of it.
    assert "at least 100 % of the time" in on_gpu("naive", 1.02).sentence


@needs_ptx
def test_that_other_tasks_are_explained_unless_their_accesses_depend_on_samples():
    random = np.random.default_rng(1).integers(0, 255, (96, 96, 1), np.uint8)
    of = {one.key: one for one in OPERATION_VARIANTS}
    jobs = (
        operation(of["histogram-shared"], zeros(256, 256, 1, dtype="uint8")),
        product("matmul-naive", 16, (512, 512, 512)),
        operation(of["median-naive"], random),
    )
    depending, matrices, median = (explained_by(job, GPU, GPU_LIMITS, None)[0] for job in jobs)
    assert (depending.not_explained.code, depending.remedy) == ("depends-on-samples", "")
    assert matrices.remedy == "matmul-tiled"
    assert " instructions per result" in median.sentence


@needs_ptx
def test_that_a_remedy_is_the_nearest_kernel_in_teaching_order():
    for key, mask, shape, per_s, found in (
        # No tile of another kernel fits into the block of the run.
        ("naive-uncoalesced", "gaussian:9", (256, 256, 1), 1e13, ("l1", "naive")),
        ("cached", "gaussian:5", (256, 256, 3), 1e12, ("instructions", "tiled")),
    ):
        mask, samples = resolve_mask(mask), zeros(*shape)
        problem = describe_problem(samples, mask, Border.ZERO, 0.0, "float32")
        job = filter_job(Choice(variant(key), Block(32, 8)), problem, mask, samples)
        # Near those of an H200; instructions may be issued so fast that L1 bounds.
        limits = replace(GPU_LIMITS, blocks_per_s=None, launches_per_s=None, instructions_per_s=Limit(per_s))
        explained, _ = explained_by(job, GPU, limits, None)
        assert (explained.bounds[0].key, explained.remedy) == found


@pytest.fixture(autouse=True)
def nothing_kept():
    """Count and list anew in each test."""
    counting._kept.clear()
    kernel_code.listing_of.cache_clear()


def asked(picture, key, ms=None, report=lambda step: None, **fields):
    """Return the reply for a variant."""
    job = mask_job(picture=picture, variant=key, **{"mask": gaussian(5)} | fields)
    return why.answer_time(TimeRequest(job, ms), report)


def test_that_a_device_without_limits_gives_no_bounds_but_says_what_measures_them(picture, monkeypatch):
    for name in ("kept_limits", "recorded_limits"):
        monkeypatch.setattr(why, name, lambda *device: None)
    for key in ("cpu-serial", "naive"):
        found = asked(picture, key)
        assert found.not_explained.code == "not-measured"
        assert "measure" in found.words


@pytest.mark.slow
@needs_nvvm
def test_that_bounds_are_those_of_this_processor_or_the_recorded_gpu_where_none_is_here(picture, monkeypatch):
    monkeypatch.setattr(device_list.DeviceInfo, "is_usable_gpu", property(lambda device: False))
    found = asked(picture, "naive", ms=1.0)
    assert found.device == recorded_limits().device
    assert found.transactions_per_request >= 1
    assert found.share == found.least_ms / 1.0
    monkeypatch.setattr(why, "kept_limits", lambda device: CPU_LIMITS)
    found = asked(picture, "cpu-serial")
    assert (found.device, found.share) == ("CPU", None)
    assert found.bounds[0].ms > 0


@pytest.mark.slow
@needs_nvvm
def test_that_a_cancelled_question_leaves_nothing_half_kept(picture):
    def stop(step):
        if "counting" in step.stage:
            raise Cancelled("The question")

    how = {"mask": gaussian(3), "block": Block(16, 16)}
    whole = asked(picture, "tiled", **how)
    counting._kept.clear()
    with pytest.raises(Cancelled):
        asked(picture, "tiled", report=stop, **how)
    assert asked(picture, "tiled", **how) == whole
