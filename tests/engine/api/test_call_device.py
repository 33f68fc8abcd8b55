"""Which device a call takes by itself, with made-up devices and rates."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from engine.api import call_device
from engine.api.call_device import CallRates, faster_device
from engine.compiled.code_store import CodeStore
from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable
from engine.mask.mask import Mask
from engine.process import OncePerProcess
from engine.work.resolve import Resolved
from tests.picture_jobs import mask_request

CPU = DeviceInfo("cpu", "cpu", "CPU, 2 cores", facts={"model": "a CPU", "cores": "2"})
FACTS = {"multiprocessors": "132", "clock": "1980 MHz", "driver API": "13.0"}
GPU = DeviceInfo("cuda:0", "cuda", "a GPU", facts=FACTS, bandwidth_gb_s=3350.0)
RANDOM = np.random.default_rng(2)
SMALL, LARGE = Mask(RANDOM.normal(size=(3, 3))), Mask(RANDOM.normal(size=(31, 31)))
# 64 MB each way in 21 ms, or in 5.
SLOW_BUS, FAST_BUS = (CallRates((0.0, 2.0**27), (0.0, time_us), 1.0) for time_us in (21_000.0, 5_000.0))


def chosen(mask=SMALL, side=4096, **options):
    """Return the device of a call with a square float32 picture, and why."""
    samples = np.broadcast_to(np.zeros((), np.float32), (side, side, 1))
    return faster_device(Resolved(mask_request(mask=mask, **options), samples))


@pytest.fixture
def with_gpu(monkeypatch):
    """Return what makes a machine with 2 cores and a GPU of given rates; it is not started."""
    for name, found in (("has_driver", True), ("cpu_info", CPU), ("_first_gpu", GPU)):
        monkeypatch.setattr(call_device, name, lambda found=found: found)
    monkeypatch.setattr(call_device, "listed_devices", lambda: (CPU, GPU))
    monkeypatch.setattr(call_device, "device_named", {"cuda:0": GPU}.get)
    measure = call_device._rates.__wrapped__
    monkeypatch.setattr(call_device, "_rates", OncePerProcess(measure))
    return lambda rates: monkeypatch.setattr(call_device, "_rates", lambda key: rates)


def refuse(key):
    raise DeviceUnavailable(f"device '{key}'", "the driver is too old", "Update it.")


def test_that_the_cpu_is_taken_where_copies_cost_more_and_the_gpu_where_it_pays(with_gpu):
    with_gpu(SLOW_BUS)
    device, reason = chosen()
    assert device is CPU
    assert reason.short.startswith("CPU: ")
    assert reason.short.endswith("; the GPU would need 21 ms, 21 of them for copies")
    with_gpu(FAST_BUS)
    device, reason = chosen(LARGE)
    assert device is GPU
    assert reason.short.startswith("GPU: ")
    assert ", 5 of them for copies; the CPU would need " in reason.short


def test_that_no_gpu_is_looked_for_for_a_small_call_or_without_a_driver(with_gpu, monkeypatch):
    monkeypatch.setattr(call_device, "_first_gpu", lambda: pytest.fail("it was looked for"))
    assert chosen(side=64) == (CPU, None)
    monkeypatch.setattr(call_device, "has_driver", lambda: False)
    assert chosen(LARGE) == (CPU, None)


def test_that_the_cpu_is_taken_where_it_is_named_or_the_gpu_cannot_be_started(with_gpu, monkeypatch):
    with_gpu(None)
    assert chosen(LARGE, device="cpu")[0].key == "cpu"
    with_gpu(FAST_BUS)
    monkeypatch.setattr(call_device, "device_named", refuse)
    assert chosen(LARGE) == (CPU, None)


class Machine:
    """A GPU whose calls do nothing; it counts how often its rates are measured."""

    info = GPU

    def __init__(self):
        self.measured = 0

    def caller(self, prepared, like, result_dtype, layout):
        self.measured += like.shape[0] == call_device.SIDES[0]
        return lambda image, out: None


@pytest.fixture
def measured(with_gpu, monkeypatch, tmp_path):
    """Return the machine whose rates are measured, and kept in a folder of the test."""
    machine = Machine()
    store = CodeStore(tmp_path / "kept")
    monkeypatch.setattr(call_device, "code_store", lambda: store)
    monkeypatch.setattr(call_device, "SIDES", (8, 16, 32))
    monkeypatch.setattr(call_device, "backend", lambda key: machine)
    monkeypatch.setattr(call_device, "_cpu_slowness", lambda: 1.5)
    return machine


def test_that_threads_measure_rates_once(measured):
    with ThreadPoolExecutor(4) as pool:
        assert {device for device, _ in pool.map(lambda _: chosen(LARGE), range(8))} == {GPU}
    assert measured.measured == 1


def test_that_another_process_reads_the_rates(measured, monkeypatch):
    first = call_device._rates("cuda:0")
    monkeypatch.setattr(call_device, "_rates", OncePerProcess(call_device._rates.__wrapped__))
    monkeypatch.setattr(call_device, "backend", lambda key: pytest.fail("it was started"))
    assert call_device._rates("cuda:0") == first
    assert first.cpu_slowness == 1.5


def test_that_the_cpu_is_taken_where_rates_cannot_be_measured(measured, monkeypatch):
    monkeypatch.setattr(call_device, "backend", refuse)
    assert chosen(LARGE) == (CPU, None)


RATES = CallRates((1000.0, 2000.0, 4000.0), (50.0, 60.0, 100.0), 1.0)


def test_that_times_between_known_ones_lie_on_straight_lines():
    known = {0: 50, 1000: 50, 1500: 55, 2000: 60, 3000: 80, 4000: 100, 8000: 180}
    assert {copied_bytes: RATES.copies_us(copied_bytes) for copied_bytes in known} == known


def test_that_rates_of_another_driver_do_not_count(measured, monkeypatch):
    assert call_device._rates("cuda:0").copied_bytes == tuple(8.0 * side**2 for side in (8, 16, 32))
    newer = replace(GPU, facts=GPU.facts | {"driver API": "99.0"})
    monkeypatch.setattr(call_device, "listed_devices", lambda: (CPU, newer))
    monkeypatch.setattr(call_device, "_rates", OncePerProcess(call_device._rates.__wrapped__))
    call_device._rates("cuda:0")
    assert measured.measured == 2
