"""What a GPU's calls cost beside their kernels: kept times, and the straight lines between them."""

import pytest

from engine.compiled.code_store import CodeStore
from engine.device import call_rates
from engine.device.call_rates import CallRates, kept_rates, measured_rates
from engine.device_info import DeviceInfo

GPU = DeviceInfo("cuda:0", "cuda", "a GPU", facts={"driver API": "13.0"})
RATES = CallRates((1000.0, 2000.0, 4000.0), (50.0, 60.0, 100.0), 1.0)


class Machine:
    info = GPU

    def caller(self, prepared, like, result_dtype, layout):
        return lambda image, out: None


@pytest.fixture(autouse=True)
def _own_store(monkeypatch, tmp_path):
    store = CodeStore(tmp_path / "kept")
    monkeypatch.setattr(call_rates, "code_store", lambda: store)
    monkeypatch.setattr(call_rates, "SIDES", (8, 16))


@pytest.mark.parametrize(
    ("copied_bytes", "time_us"),
    [(0, 50), (1000, 50), (1500, 55), (2000, 60), (3000, 80), (4000, 100), (8000, 180)],
)
def test_that_times_between_known_ones_lie_on_straight_lines(copied_bytes, time_us):
    assert RATES.copies_us(copied_bytes) == time_us


def test_that_measured_rates_are_kept_for_their_driver():
    assert kept_rates(GPU) is None
    rates = measured_rates(Machine(), 1.25)
    assert rates.copied_bytes == (512.0, 2048.0)
    assert kept_rates(GPU) == rates
    assert kept_rates(DeviceInfo("cuda:0", "cuda", "a GPU", facts={"driver API": "13.1"})) is None


def test_that_a_median_leaves_the_first_calls_out(monkeypatch):
    times = iter([9.0, 9.0, *[1.0, 2.0, 3.0] * 3])
    now = [0.0]
    monkeypatch.setattr(call_rates.time, "perf_counter", lambda: now[0])

    def call():
        now[0] += next(times)

    assert call_rates.median_us(call) == 2e6
