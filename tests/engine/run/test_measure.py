"""One run of either task: what is refused, wrong or stopped has no speed; others are verified and sampled."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from engine.device import backend as backend_module
from engine.device.backend import CpuBackend, LaunchClock
from engine.device.device_list import cpu_info, simulator_info
from engine.device.devices import backend
from engine.errors import BadValue, Cancelled, DeviceFault, DeviceUnavailable, OutOfDeviceMemory, Reason
from engine.geometry.block import Block, UnsupportedVariant
from engine.geometry.border import Border
from engine.mask.generators import box
from engine.mask.mask import Mask
from engine.results.metrics import number_of
from engine.run.measure import (
    HARDLY_SAMPLED,
    NO_SAMPLES,
    WHOLE_NUMBER_FILLS,
    SamplingPlan,
    measure,
    measure_each,
    run_over_fills,
    unrun,
)
from engine.run.task import Choice, Job, compute, device_for
from engine.tasks.product.problem import MatrixProduct, matmul_variant, tile_of
from engine.tasks.product.task import PRODUCT, product_job, random_matrices
from engine.work.filter_task import FILTERING, describe_problem
from engine.work.filtering.variants import variant
from tests.picture_jobs import filter_job

IMAGE = np.random.default_rng(2).integers(0, 256, (20, 30, 3), np.uint8)
MASK = Mask([[1, 2, 1], [2, 4, 2], [1, 2, 1]], name="smooth")
PROBLEM = describe_problem(IMAGE, MASK, Border.MIRROR, 0.0)
SERIAL = variant("cpu-serial")
FILTER_JOB = filter_job(
    Choice(SERIAL, Block(1, 1), Reason("chosen", "because")), PROBLEM, MASK, IMAGE, seed=7
)
SMALL = MatrixProduct(6, 9, 5)
A, B = random_matrices(SMALL, 1)
TILED, NUMPY = (matmul_variant(key) for key in ("matmul-tiled", "numpy"))
PRODUCT_JOB = product_job(NUMPY, 16, A, B, seed=7)
QUICK = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=3, most=3, fewest_copies=2)
CPU = backend("cpu")
of_each_task = pytest.mark.parametrize("job", [FILTER_JOB, PRODUCT_JOB], ids=["filter", "product"])


class Wrong:
    """A prepared variant that writes one value."""

    def __init__(self, value, samples=slice(None)):
        self.value, self.samples = value, samples

    def launch(self, image, out, stream=None):
        out[self.samples] = self.value


def with_prepare(job, prepare):
    """Return a job whose variant is made ready another way."""
    return replace(job, variant=replace(job.variant, prepare=prepare))


def raising(job, error):
    def prepare(*arguments):
        raise error

    return with_prepare(job, prepare)


@of_each_task
def test_that_a_run_is_recorded_with_its_proof_beside_its_times(job):
    outcome = measure(job, CPU, QUICK)
    result, timing = outcome.result, outcome.result.timing
    assert outcome.values is not None
    assert (outcome.error, result.is_proven, result.seed) == (None, True, 7)
    assert np.array_equal(compute(job, CPU), outcome.values)
    assert len(timing.kernel.samples_ms) == 3
    assert (timing.end_to_end, timing.host_to_device) == (timing.kernel, None)
    assert result.kernel_ms == timing.kernel.median_ms > 0
    told = (result.variant, result.title, result.device, result.block)
    assert told == (job.variant.key, job.variant.title, "cpu", None)
    assert {"python", "numpy", "numba"} <= result.environment.versions.keys()
    json.dumps(result.as_json(), allow_nan=False)


def test_that_a_filter_and_a_product_record_what_is_theirs():
    filtered = measure(FILTER_JOB, CPU, QUICK).result
    assert (filtered.verification.exact, filtered.verification.checked_pixels) == (True, 600)
    assert (filtered.mask_name, filtered.chosen_because) == ("smooth", "because")
    multiplied = measure(PRODUCT_JOB, CPU, QUICK).result
    assert multiplied.status.startswith("verified: every element")
    assert multiplied.kernel_ms is not None
    assert number_of(multiplied, "gflops") == 2 * 6 * 9 * 5 / multiplied.kernel_ms / 1e6
    # What a BLAS loads is not known.
    assert (tile_of(multiplied), multiplied.work, number_of(multiplied, "cgma_flop_per_load")) == (None,) * 3


@pytest.mark.parametrize(
    "prepared",
    [Wrong(3.0), Wrong(np.inf), Wrong(np.nan), Wrong(0.0, slice(0, 0))],
    ids=["3", "inf", "NaN", "unwritten"],
)
@of_each_task
def test_that_a_wrong_result_says_where_it_is_wrong_in_place_of_a_speed(job, prepared):
    outcome = measure(with_prepare(job, lambda *given: prepared), CPU, QUICK)
    result = outcome.result
    assert outcome.values is not None
    assert not result.is_proven
    assert (result.timing, result.kernel_ms) == (None, None)
    assert result.status.startswith("not verified: row 0, column 0")
    json.dumps(result.as_json(), allow_nan=False)


def test_that_a_variant_that_fails_is_a_result_with_its_reason_and_what_ends_everything_is_passed_on():
    for error in (OutOfDeviceMemory("Not enough", "full", "Use less"), BadValue("no", "why")):
        outcome = measure(raising(FILTER_JOB, error), CPU, QUICK)
        result = outcome.result
        assert (outcome.values, outcome.error) == (None, error)
        assert (result.failure, result.status) == (error.failure, str(error.failure))
        assert (result.timing, result.verification) == (None, None)
        json.dumps(result.as_json(), allow_nan=False)
    for error in (Cancelled("stopped"), DeviceFault("lost")):
        with pytest.raises(type(error)):
            measure(raising(PRODUCT_JOB, error), CPU, QUICK)


@of_each_task
def test_that_a_run_can_be_stopped_before_each_of_its_steps(job):
    steps = []
    measure(job, CPU, NO_SAMPLES, checkpoint=steps.append)
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages[:3] == ["compiling", "first launch", "verifying against the float64 oracle"]
    fractions = [step.fraction for step in steps]
    assert fractions == sorted(fractions)
    assert all(0 <= step.fraction < 1 and step.expected_s > 0 and step.stage for step in steps)
    for stage in stages:
        with pytest.raises(Cancelled):
            measure(job, CPU, NO_SAMPLES, checkpoint=stop_at(stage, 0))


def test_that_an_illegal_block_is_refused_with_the_nearest_legal_one():
    rank_2 = Mask([[1, 2, 3], [3, 2, 1]])
    problem = describe_problem(IMAGE, rank_2, Border.ZERO, 0.0)
    for chosen, asked, block, nearest, words in [
        (variant("tiled"), problem, Block(64, 32), Block(64, 16), "block of 64 × 32.*nearest legal block"),
        (variant("separable-l0"), problem, Block(8, 8), None, r"^variant 'separable-l0': Not separable: its"),
        (TILED, SMALL, Block(40, 40), Block(32, 32), "A tile of 40 is not.*legal block is 32 × 32"),
    ]:
        with pytest.raises(UnsupportedVariant, match=words) as caught:
            Job(FILTERING, chosen, block, asked, None, rank_2).refuse_problem(simulator_info())
        assert caught.value.nearest_block == nearest


def test_that_a_variant_of_another_kind_of_device_is_refused():
    outcome = measure(replace(FILTER_JOB, variant=variant("naive"), block=Block(0, 8)), CPU, QUICK)
    assert isinstance(outcome.error, UnsupportedVariant)
    assert outcome.result.refused
    for job in (replace(FILTER_JOB, variant=variant("naive")), replace(PRODUCT_JOB, variant=TILED)):
        with pytest.raises(UnsupportedVariant, match="It is written for CUDA devices"):
            job.refuse_problem(cpu_info())
    for on_cpu, on_cuda in ((SERIAL, variant("naive")), (NUMPY, TILED)):
        assert device_for(on_cpu, "cuda:3").key == "cpu"
        with pytest.raises(DeviceUnavailable):
            device_for(on_cuda, "cuda:99")


def test_that_the_simulator_refuses_large_pictures_and_matrices():
    picture = structs.replace(PROBLEM, width=2048, height=1024)
    for chosen, largest, large, words in [
        (variant("naive"), picture, structs.replace(picture, width=2049),
         r"a picture of 2049 × 1024: too large for the simulator \(limit 2,097,152 pixels\)"),
        (TILED, MatrixProduct(512, 512, 512), MatrixProduct(513, 512, 512),
         r"matrices of 513 × 512 × 512: too large for the simulator \(limit 512 × 512\)"),
    ]:  # fmt: skip
        with pytest.raises(BadValue, match=words):
            Job(FILTERING, chosen, Block(8, 8), large, None, MASK).refuse_problem(simulator_info())
        Job(FILTERING, chosen, Block(8, 8), largest, None, MASK).refuse_problem(simulator_info())


class CountingClock:
    """Samples of 2, 3, 4 ... ms that take no time."""

    name = "a clock of the test's"

    def __init__(self):
        self.taken = 0

    def sample_ms(self):
        self.taken += 1
        return 1.0 + self.taken


class FakeDevice(CpuBackend):
    """A device with copies, whose clock belongs to the test."""

    def __init__(self, *, copies=False, times_mean_speed=True):
        super().__init__()
        self.copies = copies
        self.counting = CountingClock()
        self.uploads = 0
        self.info = replace(self.info, times_mean_speed=times_mean_speed)

    def upload(self, image, buffers):
        self.uploads += 1

    def clock(self, prepared, buffers):
        return self.counting


def test_that_warm_ups_do_not_count():
    device = FakeDevice()
    plan = SamplingPlan(warm_up_s=0.1, budget_s=0.0, fewest=4, most=4)
    timing = measure(FILTER_JOB, device, plan).result.timing
    warm_ups = device.counting.taken - 4
    assert warm_ups > 0
    assert timing.kernel.samples_ms == tuple(1.0 + warm_ups + i for i in range(1, 5))
    assert timing.clock == "a clock of the test's"


def test_that_copies_are_sampled_apart_and_times_that_mean_nothing_not_at_all():
    device = FakeDevice(copies=True)
    timing = measure(FILTER_JOB, device, QUICK).result.timing
    spreads = (timing.host_to_device, timing.device_to_host, timing.end_to_end)
    assert [len(spread.samples_ms) for spread in spreads] == [2, 2, 2]
    assert device.uploads == 1 + 2 + 2
    device = FakeDevice(times_mean_speed=False)
    result = measure(FILTER_JOB, device, QUICK).result
    assert (result.timing, result.kernel_ms, result.is_proven) == (None, None, True)
    assert device.counting.taken == 0
    assert not simulator_info().times_mean_speed


def test_that_sampling_ends_with_the_most_the_budget_or_the_patience():
    for budget_s, fewest, patience_s, taken in [(60.0, 2, 10.0, 9), (0.0, 2, 10.0, 2), (0.0, 5, 0.0, 1)]:
        plan = SamplingPlan(0.0, budget_s, fewest, 9, patience_s=patience_s)
        timing = measure(FILTER_JOB, FakeDevice(), plan).result.timing
        assert len(timing.kernel.samples_ms) == taken


def stop_at(stage, after):
    seen = []

    def checkpoint(step):
        seen.append(step.stage)
        if seen.count(stage) > after:
            raise Cancelled("The request", "it was stopped")

    return checkpoint


def test_that_a_run_can_be_stopped_between_samples():
    for stage, after in (("warming up", 0), ("sampling the kernel", 2)):
        device = FakeDevice()
        with pytest.raises(Cancelled):
            measure(FILTER_JOB, device, SamplingPlan(0.0, 60.0, 5, 10_000), checkpoint=stop_at(stage, after))
        assert device.counting.taken == after


def test_that_the_host_clock_divides_by_its_launches(monkeypatch):
    now_s = 0.0

    def launch(image, out):
        nonlocal now_s
        now_s += 2**-18

    monkeypatch.setattr(backend_module, "time", SimpleNamespace(perf_counter=lambda: now_s))
    buffers = CpuBackend().allocate(np.zeros((1, 1, 1), np.float32))
    clock = LaunchClock(SimpleNamespace(launch=launch), buffers)
    # A launch of 4 microseconds is repeated until the clock's own resolution no longer shows.
    assert clock.launches == round(backend_module.SHORTEST_SAMPLE_S * 2**18) > 1
    assert clock.sample_ms() == 1e3 * 2**-18


def test_that_zeros_that_fill_a_tile_are_work_of_the_kernel_and_count_as_no_work_done():
    thin = unrun(Job(PRODUCT, TILED, Block(16, 16), MatrixProduct(16, 1, 16), None), None)
    assert thin.work.flops == 2 * 16 * 16 * 16
    assert number_of(thin, "cgma_flop_per_load") == 2 * 16 * 16 / 32


TINY = np.random.default_rng(3).integers(0, 256, (5, 6, 3), np.uint8)
IDENTITY = Mask([[1.0]])


class Skipping:
    """`cpu-serial`, launched and counted; one sample of its result is put back."""

    def __init__(self, problem, at=None):
        self._prepared, self._at = SERIAL.prepare(problem, IDENTITY, SERIAL.default_block), at
        self.launches = 0

    def launch(self, image, out, stream=None):
        self.launches += 1
        before = None if self._at is None else out[self._at]
        self._prepared.launch(image, out, stream)
        if self._at is not None:
            out[self._at] = before


def problem_of(image):
    return describe_problem(image, IDENTITY, "zero", 0.0, image.dtype.name)


def measured(image, at):
    skipping = replace(SERIAL, prepare=lambda problem, mask, block: Skipping(problem, at))
    job = filter_job(Choice(skipping, SERIAL.default_block), problem_of(image), IDENTITY, image)
    return measure(job, CpuBackend(), NO_SAMPLES)


def test_that_a_skipped_sample_has_no_speed_also_where_a_fill_happens_to_be_right():
    for dtype in ("uint8", "uint16", "float32"):
        result = measured(TINY.astype(dtype), (3, 4, 1)).result
        assert (result.is_proven, result.timing) == (False, None)
        assert result.status.startswith("not verified: row 3, column 4, channel 1 is ")
    for fill in WHOLE_NUMBER_FILLS:
        status = measured(np.full_like(TINY, fill), (0, 0, 0)).result.status
        assert "channel 0 is 85 and, in a second run over another fill, 170" in status


def test_that_float32_is_launched_over_one_fill_only():
    for dtype, launches in (("uint8", 2), ("uint16", 2), ("float32", 1)):
        image, machine = TINY.astype(dtype), CpuBackend()
        counted, buffers = Skipping(problem_of(image)), machine.allocate(image, result_dtype=dtype)
        values, times_ms, fault = run_over_fills(counted, buffers, machine)
        assert (fault, counted.launches, len(times_ms), values.dtype) == ("", launches, launches, dtype)
        assert min(times_ms) > 0
        assert np.array_equal(values, image)


@pytest.mark.parametrize(
    ("dtype", "plan", "at", "handed_over"),
    [
        ("uint8", HARDLY_SAMPLED, None, True),
        # What is unwritten or sampled is not handed over, and float32 is launched over one fill only.
        ("uint8", HARDLY_SAMPLED, (0, 0, 0), False),
        ("uint8", NO_SAMPLES, None, False),
        ("float32", HARDLY_SAMPLED, None, False),
    ],
)
def test_that_a_result_is_handed_over_before_its_proof_once_nothing_is_launched(dtype, plan, at, handed_over):
    image = np.random.default_rng(4).integers(0, 256, (300, 400, 3)).astype(dtype)
    launched = Skipping(problem_of(image), at)
    counting = replace(SERIAL, prepare=lambda problem, mask, block: launched)
    job = filter_job(Choice(counting, SERIAL.default_block), problem_of(image), IDENTITY, image)
    order, seen = [], []

    def hand_over(values):
        order.append("handed over")
        seen.append((launched.launches, values.copy()))

    steps = {"checkpoint": lambda step: order.append(step.stage), "on_values": hand_over}
    result = measure(job, CpuBackend(), plan, **steps).result
    assert (result.timing is not None) == (at is None)
    assert ("handed over" in order) == handed_over
    if handed_over:
        assert order.index("handed over") < order.index("verifying against the float64 oracle")
        ((launches_then, values),) = seen
        assert launches_then == launched.launches == 2
        assert np.array_equal(values, image)
        assert len(result.timing.kernel.samples_ms) == 1


def test_that_jobs_of_one_picture_copy_it_once():
    samples = np.random.default_rng(5).random((9, 8, 2), np.float32)
    masks, serial = [box(3), Mask([[1, 2]]), Mask([[5]])], variant("cpu-serial")
    choice = Choice(serial, serial.default_block)
    problems = [describe_problem(samples, mask, Border.ZERO, 0.0) for mask in masks]
    jobs = [filter_job(choice, problem, mask, samples) for problem, mask in zip(problems, masks, strict=True)]
    machine = FakeDevice()
    outcomes = measure_each(jobs, machine, NO_SAMPLES)
    assert machine.uploads == 1
    for job, outcome in zip(jobs, outcomes, strict=True):
        assert outcome.result.verification.passed
        assert np.array_equal(outcome.values, compute(job, backend("cpu")))
