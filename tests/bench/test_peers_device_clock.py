# ruff: noqa: N802 - the driver's own names
"""The clock of a device on a made-up driver: each launch takes a known time on a stream."""

import ctypes
from unittest.mock import MagicMock

import pytest

pytest.importorskip("cuda.bindings")

from bench.peers import device_clock
from bench.peers.device_clock import DeviceClock

LAUNCH_MS = 0.01


class MadeUpDriver:
    """Enough of the driver for events, graphs and a queue that is held."""

    def __init__(self, real, *, graphs=True):
        self._real, self._graphs = real, graphs
        self.now_ms, self.launched, self.held = 0.0, [], 0
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


class Held:
    def __init__(self, driver, *, gave_up=False):
        self._driver = driver
        self.gave_up = gave_up

    def hold(self, stream):
        self._driver.held += 1

    def release(self):
        self._driver.held -= 1


@pytest.fixture
def made_up(monkeypatch):
    """Put a driver in place of the real one, whose streams can be held."""

    def make(*, graphs=True, gave_up=False):
        driver = MadeUpDriver(device_clock.driver, graphs=graphs)
        monkeypatch.setattr(device_clock, "driver", driver)
        monkeypatch.setattr(device_clock, "_Flag", lambda: Held(driver, gave_up=gave_up))
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


@pytest.mark.parametrize(
    ("gave_up", "name"),
    [(False, "device events around a full queue (no graph: "), (True, "wait for the device by themselves")],
    ids=["held", "a call that waits itself"],
)
def test_that_what_cannot_be_captured_is_queued_and_held_unless_it_waits(made_up, monkeypatch, gave_up, name):
    driver = made_up(graphs=False, gave_up=gave_up)
    clock = DeviceClock(driver.launch, 1, 0, launches=4)
    if gave_up:
        # Nobody may hold it any more.
        monkeypatch.setattr(Held, "hold", lambda self, stream: pytest.fail("held again"))
    ms, runs = clock.sample()
    assert ms == pytest.approx(LAUNCH_MS)
    assert runs * 4 <= device_clock.MOST_QUEUED
    assert name in clock.name
    assert gave_up or driver.held == 0


def test_that_a_flag_gives_up_after_a_while(monkeypatch):
    monkeypatch.setattr(device_clock, "LONGEST_HOLD_S", 1e-3)
    word = ctypes.c_uint32(7)
    monkeypatch.setattr(device_clock, "check", lambda answer: ctypes.addressof(word))
    monkeypatch.setattr(device_clock, "driver", MagicMock())
    flag = device_clock._Flag()
    flag.hold(0)
    flag._timer.join(10)
    assert (flag.gave_up, word.value) == (True, 1)


def test_that_a_run_that_fails_leaves_no_stream_held(made_up):
    driver = made_up(graphs=False)
    clock = DeviceClock(driver.launch, 1, 0)

    clock._run = MagicMock(side_effect=RuntimeError("no"))
    with pytest.raises(RuntimeError, match="no"):
        clock.sample()
    assert driver.held == 0
