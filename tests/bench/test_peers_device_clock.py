# ruff: noqa: N802 - the driver's own names
"""The clock of a device on a made-up driver: each launch takes a known time on a stream."""

import pytest

pytest.importorskip("cuda.bindings")

from bench.peers import device_clock
from bench.peers.device_clock import DeviceClock

LAUNCH_MS = 0.01


class MadeUpDriver:
    """Enough of the driver for events and graphs."""

    def __init__(self, real, *, graphs=True):
        self._real, self._graphs = real, graphs
        self.now_ms, self.launched = 0.0, []
        self._captured_from = 0.0

    def __getattr__(self, name):
        is_call = name.startswith("cu") and name != "cuuint32_t"
        return (lambda *arguments: self._ok()) if is_call else getattr(self._real, name)

    def _ok(self, *values):
        return (self._real.CUresult.CUDA_SUCCESS, *values)

    def launch(self, copy):
        self.launched.append(copy)
        self.now_ms += LAUNCH_MS

    def cuEventCreate(self, flags):
        return self._ok([0.0])

    def cuEventRecord(self, event, stream):
        event[0] = self.now_ms
        return self._ok()

    def cuEventElapsedTime(self, begin, end):
        return self._ok(end[0] - begin[0])

    def cuStreamBeginCapture(self, stream, mode):
        if not self._graphs:
            return (self._real.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,)
        self._captured_from = self.now_ms
        return self._ok()

    def cuStreamEndCapture(self, stream):
        took_ms, self.now_ms = self.now_ms - self._captured_from, self._captured_from
        return self._ok(took_ms)

    def cuGraphInstantiate(self, graph, flags):
        return self._ok(graph)

    def cuGraphLaunch(self, executable, stream):
        self.now_ms += executable
        return self._ok()


@pytest.fixture
def made_up(monkeypatch):
    """Put a driver in place of the real one."""

    def make(*, graphs=True):
        driver = MadeUpDriver(device_clock.driver, graphs=graphs)
        monkeypatch.setattr(device_clock, "driver", driver)
        return driver

    return make


def test_that_a_sample_is_the_time_of_one_run_of_a_graph_of_2_ms(made_up):
    driver = made_up()
    clock = DeviceClock(driver.launch, 1, 0)
    assert clock.sample() == (pytest.approx(LAUNCH_MS), 200)
    assert clock.name == "device events around a replayed graph"
    # A cold sample goes through all copies in turn.
    driver.launched.clear()
    _, runs = DeviceClock(driver.launch, 7, 0).sample()
    assert runs % 7 == 0
    assert driver.launched == [number % 7 for number in range(len(driver.launched))]


def test_that_what_cannot_be_captured_is_timed_with_the_hosts_part(made_up):
    driver = made_up(graphs=False)
    clock = DeviceClock(driver.launch, 1, 0)
    assert clock.sample() == (pytest.approx(LAUNCH_MS), 200)
    assert clock.name.startswith("device events around runs: the host's part is in it (no graph: ")
