"""Limits of a device: their form, where they are kept, who measures them; what was exceeded is left out."""

import json
from contextlib import nullcontext
from dataclasses import fields, replace
from itertools import product
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from engine.commands.command_line import main
from engine.compiled.code_store import CodeStore
from engine.compiled.machine_code import cpu_target
from engine.device.device_list import cpu_info
from engine.device_info import DeviceInfo, GpuAttributes
from engine.errors import Cancelled, DeviceUnavailable
from engine.explain import kept_limits, measured_cpu
from engine.explain.device_limits import (
    DeviceLimits,
    KeptLimits,
    Limit,
    MeasureLimits,
    measured_well,
    reached_by_run,
    without_refuted,
)
from engine.explain.kept_limits import recorded_limits
from engine.explain.launches import theoretical_limits
from engine.geometry.block import Limits
from engine.host.request import answer
from engine.process import cores
from engine.results.measurement import Bound
from engine.variants.cpu.register_tiles import BUSY_SUMS
from tests.fresh_python import fresh_python

LIMITS = DeviceLimits(
    "CPU, 2 cores", Limit(1e10), Limit(1e11), Limit(1.6e11), core_multiply_adds_per_s=Limit(8e10),
    shared_bytes_per_s=Limit(0.9e6, 1e6),
    scalar_multiply_adds_per_s=Limit(8e9), converted_multiply_adds_per_s=Limit(6e9),
    vector_operations_per_s=Limit(2e10), vector_loads_per_s=Limit(2e10), vector_stores_per_s=Limit(1e10),
    cores=2, vector_bits=512, copies=((1000, 5e10), (3000, 1e10)),
)  # fmt: skip
# NVIDIA H100 SXM5: white paper, table 3.
H100 = DeviceInfo(
    "cuda:0", "cuda", "NVIDIA H100",
    limits=Limits(compute_capability=(9, 0)),
    attributes=GpuAttributes(132, 2048, 32, 65536, 233472, 1024, 1024, 1830.0, 3352.3, lanes=128),
)  # fmt: skip


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Keep limits in a folder of the test's own."""
    monkeypatch.setattr(kept_limits, "code_store", lambda: CodeStore(tmp_path / "kept"))


@pytest.fixture
def brief(monkeypatch):
    """Measure with less work: how much is measured does not matter."""
    for name, value in {"SIZES": (1 << 20,), "_SAMPLING_S": 0.0, "_ROUNDS": 10}.items():
        monkeypatch.setattr(measured_cpu, name, value)


def unreported(progress):
    """Take a checkpoint's progress."""


def test_that_limits_are_kept_for_a_device_and_the_cpu_that_code_is_compiled_for_alone(store, monkeypatch):
    assert answer(KeptLimits("cpu"), unreported) is None  # nothing is measured
    kept_limits.keep(cpu_info(), LIMITS)
    assert answer(KeptLimits("cpu"), unreported) == kept_limits.kept_limits(cpu_info()) == LIMITS
    assert kept_limits.kept_limits(replace(cpu_info(), title="CPU, 3 cores")) is None
    monkeypatch.setattr(kept_limits, "cpu_target", lambda: cpu_target()._replace(features="+none"))
    assert kept_limits.kept_limits(cpu_info()) is None
    with pytest.raises(DeviceUnavailable):
        answer(KeptLimits("cuda:99"), unreported)


def test_that_devices_start_without_numpy_and_kept_limits_load_neither_numba_nor_a_driver():
    code = (
        "import sys; import engine.commands.devices; assert 'numpy' not in sys.modules; "
        "from engine.explain.device_limits import KeptLimits; "
        "from engine.host.request import answer; answer(KeptLimits('cpu'), print); "
        "sys.exit(bool({'numba', 'cuda.bindings', 'cuda.core'} & set(sys.modules)))"
    )
    fresh_python("-c", code)


def test_that_a_cancelled_measurement_keeps_nothing(store, brief):
    def cancel(progress):
        raise Cancelled("The measurement")

    with pytest.raises(Cancelled):
        answer(MeasureLimits("cpu"), cancel)
    assert kept_limits.kept_limits(cpu_info()) is None


def test_that_what_fits_in_a_cache_is_copied_as_fast_as_there():
    rates = [LIMITS.copy_rate(size) for size in (10, 1000, 2999, 3000, 10**9)]
    assert rates == [5e10, 5e10, 5e10, 1e10, 1e10]
    # A launch takes longer than the smallest copies, which count as no slower than larger ones.
    made = LIMITS.with_copies({10: 1.0, 3000: 2.0, 200: 5.0})
    assert made.copies == ((10, 5.0), (200, 5.0), (3000, 2.0))


def test_that_a_gpu_copies_large_arrays_as_fast_as_smaller_ones_past_l2(monkeypatch):
    pytest.importorskip("cuda.core")
    from engine.explain import gpu_limits_code

    with pytest.raises(DeviceUnavailable, match="mean nothing"):
        answer(MeasureLimits("simulator"), unreported)

    rates = {2 << 20: 5e12, 32 << 20: 4e12, 128 << 20: 3e12}
    monkeypatch.setattr(gpu_limits_code, "SIZES", tuple(rates))
    monkeypatch.setattr(gpu_limits_code, "_copy_rate", lambda machine, size: rates[size])
    monkeypatch.setattr(gpu_limits_code, "copy_bytes_per_s", lambda machine: 2e12)
    names = "multiply_adds_per_s", "l2_bytes_per_s", "instructions_per_s"
    monkeypatch.setattr(gpu_limits_code, "_steps", lambda *_: dict.fromkeys(names, lambda: 6.4e12))
    gpu = replace(H100, attributes=replace(H100.attributes, l2_bytes=50 << 20))
    found = gpu_limits_code.gpu_limits(SimpleNamespace(info=gpu, selected=nullcontext))
    assert found.copy_bytes_per_s == Limit(3e12, 3352.3e9)
    assert found.copies == ((4 << 20, 5e12), (64 << 20, 4e12), (256 << 20, 3e12), (2 << 30, 3e12))


@pytest.mark.slow
def test_that_every_vector_of_a_copy_arrives():
    source = measured_cpu._aligned(3 * measured_cpu.PIECE_BYTES)
    source[:] = np.random.default_rng(1).integers(0, 255, source.size, np.uint8, endpoint=True)
    for times, past_cache in product([(2, 1), (1, 2)], [False, True]):
        target = measured_cpu._aligned(source.nbytes)
        call = measured_cpu._copies(measured_cpu.PIECE_BYTES, 3, times, past_cache, cores())
        call.launch(source.ctypes.data, target.ctypes.data)
        np.testing.assert_array_equal(target, source)


def results_of(work, operands, rounds):
    """Return what three pieces of a work leave behind, as float32."""
    pieces = 3
    sums, data = np.zeros((pieces, 16), np.float32), np.arange(measured_cpu.CACHED_FLOATS).astype(np.uint8)
    how = work.number, rounds, measured_cpu.CACHED_FLOATS, measured_cpu.TAPS, 1
    arguments = 0, 0, operands[np.newaxis], data, how, pieces, measured_cpu.TASK
    measured_cpu.SharedCall(measured_cpu._IN_REGISTERS, arguments, 1).launch(sums.ctypes.data, 0)
    return sums


@pytest.mark.slow
def test_that_every_vector_is_loaded_and_stored():
    length, lanes = measured_cpu.CACHED_FLOATS, cpu_target().vector_floats
    operands = np.random.default_rng(2).random(length + 64, np.float32)
    # In the first round and the ones after it; before them the first eight are loaded once more.
    words = operands.view(np.uint32)
    first = words[: 8 * lanes].reshape(-1, lanes)
    once = words[:length].reshape(-1, lanes)
    expected = np.bitwise_xor.reduce(np.vstack([first, once]))
    found = results_of(measured_cpu.LOADS, operands, 1).view(np.uint32)
    np.testing.assert_array_equal(found[:, :lanes], np.broadcast_to(expected, (3, lanes)))
    operands = np.arange(1, length + 65, dtype=np.float32)
    results_of(measured_cpu.STORES, operands, 1)
    np.testing.assert_array_equal(operands[:length], 1)


@pytest.mark.slow
def test_that_every_chain_does_all_its_multiply_adds_and_textbook_sums_have_all_their_taps():
    operands = np.linspace(0.1, 0.9, BUSY_SUMS, dtype=np.float32)
    rounds = 20
    sums = results_of(measured_cpu.MULTIPLY_ADDS, operands, rounds)
    exact = operands.astype(np.float64)
    for _ in range(rounds):
        exact = exact * np.float64(operands[0]) + np.float64(operands[1])
    # Each multiply-add and each addition rounds once; all values are below 1, and their sum below BUSY_SUMS.
    bound = (rounds + BUSY_SUMS) * BUSY_SUMS * np.finfo(np.float32).eps
    assert np.abs(sums[:, : cpu_target().vector_floats] - exact.sum()).max() <= bound
    count, taps = measured_cpu.CACHED_FLOATS, measured_cpu.TAPS
    for work in (measured_cpu.OF_FLOATS, measured_cpu.OF_INTEGERS):
        operands = (np.arange(count + 64) % 5 + 1).astype(np.float32)
        samples = operands.copy() if work is measured_cpu.OF_FLOATS else np.arange(count) % 256
        results_of(work, operands, 1)
        last = count // 2 - taps - 1
        # The last sum stays. Where its weights begin, samples end.
        weights = (np.arange(count // 2, count // 2 + taps) % 5 + 1).astype(np.float32)
        assert operands[count + 32] == (samples[last : last + taps] * weights).sum()


def test_that_the_theoretical_limits_are_those_of_the_makers_tables():
    found = theoretical_limits(H100)
    # Peak TFLOPS and TB/s of the white paper, rounded there.
    assert 2 * found["multiply_adds_per_s"] == pytest.approx(61.8e12, rel=2e-3)
    assert 2 * found["int8_tensor_multiply_adds_per_s"] == pytest.approx(1978.9e12, rel=2e-3)
    assert found["copy_bytes_per_s"] == 3352.3e9
    assert theoretical_limits(cpu_info()) == {}


@pytest.fixture
def listed(monkeypatch, store):
    """List the CPU alone, with limits that were measured before."""
    monkeypatch.setattr("engine.device.device_list.listed_devices", lambda: (cpu_info(),))
    kept_limits.keep(cpu_info(), LIMITS)


def test_that_the_command_prints_kept_limits_beside_the_theoretical_ones(listed, capsys):
    assert main(["devices", "--limits"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["multiply", "adds", "160.0", "-", "-"] in lines
    assert ["shared", "bytes", "0.0009", "0.001", "90", "%"] in lines

    assert main(["devices", "--limits", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["devices"]
    # Of an earlier version, without those that are measured no more.
    document = entry["limits_per_second"] | {"narrow_loads_per_s": {"measured": 1.0}}
    assert msgspec.convert(document, DeviceLimits) == LIMITS


@pytest.mark.slow
def test_that_the_command_measures_again_when_asked(listed, brief):
    assert main(["devices", "--measure"]) == 0
    assert kept_limits.kept_limits(cpu_info()) != LIMITS


GPU = recorded_limits()
LOW = Limit(1e8)


def well_measured(*limits):
    """Return what is made of limits that are measured one after the other, all of which are asked for."""
    left = iter(limits)
    found = measured_well(lambda: next(left))
    assert [*left] == []
    return found


def test_that_a_limit_below_what_another_kernel_did_is_measured_again_and_then_left_out_with_the_reason():
    for name in ["scalar_multiply_adds_per_s", "vector_operations_per_s"]:
        assert well_measured(replace(LIMITS, **{name: LOW}), LIMITS) == LIMITS
    assert well_measured(LIMITS) is LIMITS
    low = replace(LIMITS, vector_operations_per_s=LOW)
    found = well_measured(low, low)
    assert [name for name, why in found.left_out if why] == ["vector_operations_per_s"]
    assert replace(found, left_out=()) == replace(LIMITS, vector_operations_per_s=None)
    assert msgspec.json.decode(msgspec.json.encode(found), type=DeviceLimits) == found
    # Caches copy no less than memory, on a GPU too.
    slow = replace(GPU, l2_bytes_per_s=Limit(GPU.copy_bytes_per_s.measured / 2))
    found = well_measured(slow, slow)
    assert (found.l2_bytes_per_s, found.copy_bytes_per_s) == (None, GPU.copy_bytes_per_s)


def bound(key, ms):
    return Bound(key, key, ms, 1.0, "", 1.0, "")


LIMIT_OF = {
    "copy": "copy_bytes_per_s", "multiply-adds": "multiply_adds_per_s", "instructions": "instructions_per_s",
    "scalar-multiply-adds": "scalar_multiply_adds_per_s", "vector-operations": "vector_operations_per_s",
    "loads": "vector_loads_per_s", "stores": "vector_stores_per_s", "l1": "shared_bytes_per_s",
    "blocks": "blocks_per_s", "launch": "launches_per_s", "int8-tensor": "int8_tensor_multiply_adds_per_s",
}  # fmt: skip


def test_that_every_limit_that_a_run_exceeded_is_left_out():
    every = replace(LIMITS, **{one.name: Limit(1.0) for one in fields(LIMITS) if one.name.endswith("_per_s")})
    for key, name in LIMIT_OF.items():
        bounds = bound(key, 1.1), bound("copy" if key != "copy" else "launch", 0.5)
        left = without_refuted(every, reached_by_run(bounds, 1.1, 1.0))
        assert [one for one, _ in left.left_out] == [name]
        assert getattr(left, name) is None
        assert left.copy_rate(10**9) == (None if key == "copy" else LIMITS.copy_rate(10**9))
    # Of passes which together exceed the time the tallest.
    bounds = bound("loads", 0.9), bound("copy", 0.6)
    left = without_refuted(LIMITS, reached_by_run(bounds, 1.4, 1.0))
    assert [name for name, _ in left.left_out] == ["vector_loads_per_s"]
    # A run within its limits leaves them as they are.
    assert without_refuted(LIMITS, reached_by_run((bound("copy", 1.02),), 1.02, 1.0)) is LIMITS
