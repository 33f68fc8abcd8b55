"""One run: what is refused, wrong or stopped has no speed; what has one is verified, warm and sampled."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.device.cpu import CpuBackend, HostClock, cpu_info
from engine.device.cuda import simulator_info
from engine.device.devices import backend
from engine.errors import (
    BadValue,
    Cancelled,
    DeviceFault,
    DeviceUnavailable,
    OutOfDeviceMemory,
    UnsupportedVariant,
)
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.generators import box
from engine.mask.mask import Mask
from engine.run.device_choice import device_for
from engine.run.filtering import FILTERING, filter_job, refuse_unsuitable
from engine.run.measure import Outcome, compute, measure
from engine.run.plan import NO_SAMPLES, SamplingPlan
from engine.run.resolve import describe_problem
from engine.run.sampling import Step
from engine.variants.auto.planner import Choice
from engine.variants.registry import variant

IMAGE = np.random.default_rng(2).integers(0, 256, (20, 30, 3), np.uint8)
MASK = Mask([[1, 2, 1], [2, 4, 2], [1, 2, 1]], name="smooth")
PROBLEM = describe_problem(IMAGE, MASK, Border.MIRROR, 0.0)
SERIAL = variant("cpu-serial")
SERIAL_JOB = filter_job(Choice(SERIAL, Block(1, 1)), PROBLEM, MASK, IMAGE)
QUICK = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=3, most=3, fewest_copies=2)


class Wrong:
    """A prepared variant that writes what it is told to."""

    def __init__(self, value: float, samples: slice = slice(None)) -> None:
        self.value, self.samples = value, samples

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        out[self.samples] = self.value


def choice_of(prepared: object = None, **changes: Any) -> Choice:
    changed = replace(SERIAL, **changes)
    if prepared is not None:
        changed = replace(changed, prepare=lambda problem, mask, block: prepared)
    return Choice(changed, changed.default_block, "because")


def measured(choice: Choice, plan: SamplingPlan = QUICK, *, seed: int = 0, **more: Any) -> Outcome:
    return measure(filter_job(choice, PROBLEM, MASK, IMAGE, seed=seed), backend("cpu"), plan, **more)


def raising(error: Exception) -> Any:
    def prepare(*arguments: object) -> None:
        raise error

    return prepare


@pytest.mark.parametrize("key", ["cpu-serial", "cpu-parallel"])
def test_that_a_run_is_verified_timed_and_recorded(key: str) -> None:
    outcome = measured(Choice(variant(key), Block(1, 1), "it was asked for"), seed=7)
    result = outcome.result
    assert outcome.values is not None
    assert outcome.error is None
    assert result.verification is not None
    assert result.verification.passed
    assert result.verification.exact
    assert result.verification.checked_pixels == 600
    assert result.timing is not None
    assert len(result.timing.kernel.samples_ms) == 3
    assert result.timing.end_to_end == result.timing.kernel
    assert result.timing.host_to_device is None
    assert result.kernel_ms == result.timing.kernel.median_ms > 0
    assert (result.variant, result.device, result.mask_name, result.block) == (key, "cpu", "smooth", None)
    assert (result.seed, result.chosen_because) == (7, "it was asked for")
    assert {"python", "numpy", "numba"} <= result.environment.versions.keys()
    json.dumps(result.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    "prepared",
    [Wrong(3.0), Wrong(np.inf), Wrong(np.nan), Wrong(0.0, slice(0, 0))],
    ids=["3", "inf", "NaN", "unwritten"],
)
def test_that_a_wrong_result_has_no_speed_and_says_where_it_is_wrong(prepared: Wrong) -> None:
    outcome = measured(choice_of(prepared))
    result = outcome.result
    assert outcome.values is not None
    assert result.verification is not None
    assert not result.verification.passed
    assert result.timing is None
    assert result.kernel_ms is None
    assert result.status.startswith("not verified: row 0, column 0, channel 0 is ")
    json.dumps(result.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    "error", [OutOfDeviceMemory("Not enough", "full", "Use less"), BadValue("no", "why", "what to do")]
)
def test_that_a_variant_that_fails_is_a_result_with_its_reason(error: Exception) -> None:
    outcome = measured(choice_of(prepare=raising(error)))
    assert outcome.values is None
    assert outcome.error is error
    assert outcome.result.failure == outcome.result.status == str(error)
    assert outcome.result.timing is None
    assert outcome.result.verification is None
    json.dumps(outcome.result.as_json(), allow_nan=False)


def test_that_an_illegal_block_is_a_result_that_names_the_nearest_legal_one() -> None:
    outcome = measured(Choice(variant("naive"), Block(0, 8)))
    assert isinstance(outcome.error, UnsupportedVariant)
    simulated = replace(simulator_info())
    with pytest.raises(
        UnsupportedVariant, match=r"with a block of 64 x 32.*The nearest legal block is (32 x 32|64 x 16)"
    ) as caught:
        refuse_unsuitable(variant("tiled"), PROBLEM, MASK, Block(64, 32), simulated)
    assert caught.value.nearest_block in (Block(32, 32), Block(64, 16))


def test_that_a_refused_mask_is_not_told_as_a_matter_of_the_block() -> None:
    mask = Mask([[1, 2, 3], [3, 2, 1]])
    problem = describe_problem(np.zeros((4, 5, 1), np.float32), mask, Border.ZERO, 0.0)
    with pytest.raises(UnsupportedVariant, match=r"^variant 'separable-l0': Not separable: its rank is 2"):
        refuse_unsuitable(variant("separable-l0"), problem, mask, Block(8, 8), simulator_info())


def test_that_a_device_fault_is_passed_on_because_the_process_is_lost() -> None:
    with pytest.raises(DeviceFault):
        measured(choice_of(prepare=raising(DeviceFault("The GPU failed"))))


def test_that_a_cuda_variant_is_refused_on_the_cpu() -> None:
    with pytest.raises(UnsupportedVariant, match="it is written for CUDA devices"):
        refuse_unsuitable(variant("naive"), PROBLEM, MASK, Block(8, 8), cpu_info())
    assert device_for(SERIAL, "cuda:3").key == "cpu"
    with pytest.raises(DeviceUnavailable):
        device_for(variant("naive"), "cuda:99")


def test_that_the_simulator_refuses_a_large_picture() -> None:
    large = replace(PROBLEM, width=65)
    with pytest.raises(BadValue, match="up to 64 x 64"):
        refuse_unsuitable(variant("naive"), large, MASK, Block(8, 8), simulator_info())
    refuse_unsuitable(
        variant("naive"), replace(PROBLEM, width=64, height=64), MASK, Block(8, 8), simulator_info()
    )


class CountingClock:
    """Samples of 2, 3, 4 ... ms that take no time."""

    name = "a clock of the test's"

    def __init__(self) -> None:
        self.taken = 0
        self.closed = False

    def sample_ms(self) -> float:
        self.taken += 1
        return 1.0 + self.taken

    def close(self) -> None:
        self.closed = True


class FakeDevice(CpuBackend):
    """A device with copies, whose clock belongs to the test."""

    def __init__(self, *, copies: bool = False, times_mean_speed: bool = True) -> None:
        super().__init__()
        self.copies = copies
        self.counting = CountingClock()
        self.uploads = 0
        self.info = replace(self.info, times_mean_speed=times_mean_speed)

    def upload(self, image: np.ndarray, buffers: object) -> None:
        self.uploads += 1

    def clock(self, prepared: object, buffers: object) -> CountingClock:  # type: ignore[override]
        return self.counting


def test_that_it_warms_up_before_anything_counts() -> None:
    device = FakeDevice()
    plan = SamplingPlan(warm_up_s=0.02, budget_s=0.0, fewest=4, most=4)
    timing = measure(SERIAL_JOB, device, plan).result.timing
    assert timing is not None
    warm_ups = device.counting.taken - 4
    assert warm_ups > 0
    assert timing.kernel.samples_ms == tuple(1.0 + warm_ups + i for i in range(1, 5))
    assert timing.clock == "a clock of the test's"
    assert device.counting.closed


def test_that_copies_are_sampled_apart_from_the_kernel() -> None:
    device = FakeDevice(copies=True)
    timing = measure(SERIAL_JOB, device, QUICK).result.timing
    assert timing is not None
    assert timing.host_to_device is not None
    assert timing.device_to_host is not None
    assert len(timing.host_to_device.samples_ms) == len(timing.device_to_host.samples_ms) == 2
    assert len(timing.end_to_end.samples_ms) == 2
    assert device.uploads == 1 + 2 + 2


def test_that_a_device_whose_times_mean_nothing_gives_none() -> None:
    device = FakeDevice(times_mean_speed=False)
    result = measure(SERIAL_JOB, device, QUICK).result
    assert result.timing is None
    assert result.kernel_ms is None
    assert result.verification is not None
    assert result.verification.passed
    assert device.counting.taken == 0
    assert not simulator_info().times_mean_speed


def test_that_sampling_ends_with_the_budget_or_with_the_most() -> None:
    for plan, expected in ((SamplingPlan(0.0, 60.0, 2, 9), 9), (SamplingPlan(0.0, 0.0, 2, 9), 2)):
        timing = measure(SERIAL_JOB, FakeDevice(), plan).result.timing
        assert timing is not None
        assert len(timing.kernel.samples_ms) == expected


def stop_at(stage: str, after: int) -> Any:
    seen: list[str] = []

    def checkpoint(step: Step) -> None:
        seen.append(step.stage)
        if seen.count(stage) > after:
            raise Cancelled("The request", "it was stopped")

    return checkpoint


@pytest.mark.parametrize(
    ("stage", "after"),
    [("compiling", 0), ("first launch", 0), ("verifying against the float64 oracle", 0), ("warming up", 0), ("sampling the kernel", 2)],
)  # fmt: skip
def test_that_a_run_can_be_stopped_before_every_step_and_between_samples(stage: str, after: int) -> None:
    device = FakeDevice()
    with pytest.raises(Cancelled):
        measure(SERIAL_JOB, device, SamplingPlan(0.0, 60.0, 5, 10_000),
                checkpoint=stop_at(stage, after))  # fmt: skip
    assert device.counting.taken == (after if stage == "sampling the kernel" else 0)


def test_that_steps_are_told_in_order_with_a_growing_fraction() -> None:
    steps: list[Step] = []
    measured(Choice(SERIAL, Block(1, 1)), plan=NO_SAMPLES, checkpoint=steps.append)
    fractions = [step.fraction for step in steps]
    assert fractions == sorted(fractions)
    assert all(0 <= fraction < 1 for fraction in fractions)
    assert all(step.expected_s > 0 and step.stage for step in steps)


def test_that_a_preview_is_what_a_run_computes() -> None:
    choice = Choice(variant("cpu-parallel"), Block(1, 1))
    values = measured(choice).values
    assert values is not None
    assert np.array_equal(compute(filter_job(choice, PROBLEM, MASK, IMAGE), backend("cpu")), values)


def test_that_the_host_clock_divides_by_its_launches() -> None:
    clock = HostClock(Wrong(1.0), CpuBackend().allocate(np.zeros((1, 1, 1), np.float32)))
    clock.calibrate()
    # A launch of a few microseconds is repeated until the clock's own resolution no longer shows.
    assert clock.launches > 1
    assert 0 < clock.sample_ms() < 0.2


def test_that_a_launch_past_all_patience_is_sampled_once() -> None:
    device = FakeDevice()
    plan = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=5, most=9, patience_s=0.0)
    timing = measure(SERIAL_JOB, device, plan).result.timing
    assert timing is not None
    assert timing.kernel.samples_ms == (2.0,)


def test_that_threads_that_only_load_count_in_the_time_that_the_simulator_is_given() -> None:
    mask = box(5)
    problem = describe_problem(np.zeros((24, 29, 3), np.uint8), mask, Border.ZERO, 0.0)

    def expected_s(key: str, block: Block) -> float:
        return FILTERING.expected_launch_s(variant(key), problem, block, simulator_info())

    # Loaded, 2 cores: 40 s and 3 s.
    assert expected_s("implicit-gemm", Block(20, 20)) > 40
    assert expected_s("tiled", Block(20, 20)) < 10
    cpu = replace(simulator_info(), key="cpu")
    assert FILTERING.expected_launch_s(variant("naive"), problem, Block(8, 8), cpu) < 1
