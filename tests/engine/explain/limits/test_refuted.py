"""A limit that something exceeded is measured again, then left out: no limit is below what was done."""

from dataclasses import fields, replace

import msgspec

from engine.explain.limits.device_limits import (
    DeviceLimits,
    Limit,
    measured_well,
    reached_by_run,
    without_refuted,
)
from engine.results.measurement import Bound
from tests.engine.explain.bounds.test_gpu_bounds import LIMITS as GPU

CPU = DeviceLimits(
    "CPU, 2 cores", Limit(1e10), Limit(1e11), Limit(1.6e11), core_multiply_adds_per_s=Limit(8e10),
    scalar_multiply_adds_per_s=Limit(8e9), converted_multiply_adds_per_s=Limit(6e9),
    vector_operations_per_s=Limit(2e10), vector_loads_per_s=Limit(2e10), vector_stores_per_s=Limit(1e10),
    cores=2, vector_bits=512, copies=((1000, 5e10), (3000, 1e10)),
)  # fmt: skip
LOW = Limit(1e8)


def measuring(*limits):
    """Return a function that measures these limits one after the other, and how often it did."""
    left, calls = iter(limits), []

    def measure():
        calls.append(1)
        return next(left)

    return measure, calls


def test_that_a_limit_below_what_another_kernel_did_is_measured_again():
    for name in ["scalar_multiply_adds_per_s", "vector_operations_per_s"]:
        measure, calls = measuring(replace(CPU, **{name: LOW}), CPU)
        assert measured_well(measure) == CPU
        assert len(calls) == 2


def test_that_caches_copy_no_less_than_memory_on_a_gpu_too():
    slow = replace(GPU, l2_bytes_per_s=Limit(GPU.copy_bytes_per_s.measured / 2))
    found = measured_well(measuring(slow, slow)[0])
    assert found.l2_bytes_per_s is None
    assert found.copy_bytes_per_s == GPU.copy_bytes_per_s


def test_that_a_limit_that_is_too_low_twice_is_left_out_with_the_reason():
    low = replace(CPU, vector_operations_per_s=LOW)
    measure, calls = measuring(low, low)
    found = measured_well(measure)
    assert len(calls) == 2
    assert [name for name, why in found.left_out if why] == ["vector_operations_per_s"]
    assert replace(found, left_out=()) == replace(CPU, vector_operations_per_s=None)
    assert msgspec.json.decode(msgspec.json.encode(found), type=DeviceLimits) == found


def test_that_plausible_limits_are_measured_once():
    measure, calls = measuring(CPU)
    assert measured_well(measure) is CPU
    assert len(calls) == 1


def bound(key, ms):
    return Bound(key, key, ms, 1.0, "", 1.0, "")


def test_that_every_limit_that_a_run_exceeded_is_left_out():
    for key, name in [
        ("copy", "copy_bytes_per_s"),
        ("multiply-adds", "multiply_adds_per_s"),
        ("instructions", "instructions_per_s"),
        ("scalar-multiply-adds", "scalar_multiply_adds_per_s"),
        ("vector-operations", "vector_operations_per_s"),
        ("loads", "vector_loads_per_s"),
        ("stores", "vector_stores_per_s"),
        ("l1", "shared_bytes_per_s"),
        ("blocks", "blocks_per_s"),
        ("launch", "launches_per_s"),
        ("int8-tensor", "int8_tensor_multiply_adds_per_s"),
    ]:
        every = replace(CPU, **{one.name: Limit(1.0) for one in fields(CPU) if one.name.endswith("_per_s")})
        bounds = bound(key, 1.1), bound("copy" if key != "copy" else "launch", 0.5)
        left = without_refuted(every, reached_by_run(bounds, 1.1, 1.0))
        assert [one for one, _ in left.left_out] == [name]
        assert getattr(left, name) is None
        assert left.copy_rate(10**9) == (None if key == "copy" else CPU.copy_rate(10**9))


def test_that_passes_which_together_exceed_the_time_leave_out_the_tallest():
    bounds = bound("loads", 0.9), bound("copy", 0.6)
    left = without_refuted(CPU, reached_by_run(bounds, 1.4, 1.0))
    assert [name for name, _ in left.left_out] == ["vector_loads_per_s"]


def test_that_a_run_within_its_limits_leaves_them_as_they_are():
    assert without_refuted(CPU, reached_by_run((bound("copy", 1.02),), 1.02, 1.0)) is CPU
