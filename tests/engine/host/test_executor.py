"""The simulator in scripts, and whatever goes wrong between two processes: each end has a reason."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.errors import HostLost, VerificationFailed
from engine.geometry.block import Refusal, UnsupportedVariant
from engine.host.client import EngineClient
from engine.host.link import Host
from engine.host.protocol import OpenPicture
from engine.host.request import HostOptions
from engine.results.problem import Progress
from engine.work.filtering import oracle
from engine.work.filtering.oracle import rounding_bound
from tests.engine.host import faulty_hosts
from tests.engine.host.conftest import PATIENCE_S
from tests.engine.host.faulty_hosts import Make

ROOT = Path(__file__).parents[3]

SCRIPT = """
import numpy, engine
picture = numpy.arange(63, dtype=numpy.uint8).reshape(7, 9)
print(engine.correlate(picture, [[0, 0, 1]], variant="tiled", device="simulator", block=(4, 4))[0, 0])
"""


def run_python(*arguments, folder):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    line = [sys.executable, *arguments]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)


@pytest.mark.slow
def test_that_a_script_without_a_main_guard_can_use_it_from_any_folder(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    # A folder of the same name where the person stands must not be taken for ours.
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("raise SystemExit('the wrong engine')")
    done = run_python("-P", str(tmp_path / "script.py"), folder=tmp_path)
    assert (done.stdout, done.returncode) == ("1.0\n", 0), done.stderr


@pytest.mark.slow
def test_that_everything_of_the_request_arrives():
    image = np.random.default_rng(1).normal(size=(6, 5, 2)).astype(np.float32)
    mask = engine.Mask([[1.5, -2], [0.25, 3], [0.1, 7]], (2, 0), 12.5, "mine")
    how = {"border": "constant", "cval": -4.0, "block": "4x2", "flip": True, "layout": "packed"}
    applied = engine.apply(image, mask, variant="naive", device="simulator", **how)
    flipped = mask.flipped()
    wanted = oracle.correlate(image, flipped, engine.Border.CONSTANT, -4.0)
    bound = rounding_bound(oracle.correlate(image, flipped, engine.Border.CONSTANT, -4.0, absolute=True), 6)
    assert np.all(np.abs(applied.values - wanted) <= bound)
    result = applied.result
    ran = result.variant, result.device, result.mask_name, result.block, result.layout
    assert ran == ("naive", "simulator", "mine", engine.Block(4, 2), "packed")
    assert (result.problem.anchor, result.problem.cval) == (flipped.anchor, -4.0)
    assert (result.timing, result.kernel_ms) == (None, None)
    assert result.verification.passed

    def filtered(number):
        return engine.correlate(image, [[number]], variant="naive", device="simulator")

    with ThreadPoolExecutor(4) as pool:
        for number, values in enumerate(pool.map(filtered, range(4))):
            assert np.array_equal(values, number * image)


def test_that_an_error_comes_back_as_it_was():
    refusal = Refusal("b", "c", nearest_block=engine.Block(8, 4))
    for error in (VerificationFailed("a", "b", "c"), UnsupportedVariant("a", refusal)):
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), back.args) == (type(error), error.args)
        assert getattr(back, "nearest_block", None) == getattr(error, "nearest_block", None)


def fail(*_):
    raise ValueError("a callback that fails")


def test_that_a_process_that_cannot_be_started_is_reported(start, monkeypatch, caplog):
    def no_memory(*_, **__):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("engine.host.link.subprocess.Popen", no_memory)
    with pytest.raises(HostLost, match=r"its connection failed \(OSError: .*Cannot allocate memory"):
        start().ask(Make())
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


@pytest.mark.slow
def test_that_a_message_that_cannot_be_read_ends_the_host(start, monkeypatch):
    monkeypatch.setattr("engine.host.link.FAILED_STARTS_ALLOWED", 1)
    with pytest.raises(HostLost, match=r"its connection failed \(ZeroDivisionError"):
        start(faulty_hosts.send_what_cannot_be_read).ask(Make())


def fail_to_pickle():
    """An object that cannot be pickled."""


fail_to_pickle.__qualname__ = "nowhere"


@pytest.mark.slow
def test_that_a_request_that_cannot_be_sent_fails(start_up):
    watched, _ = start_up()
    with pytest.raises(HostLost, match="a request could not be sent to it"):
        watched.ask(OpenPicture(fail_to_pickle))
    assert watched.ask(Make())


@pytest.mark.slow
def test_that_callbacks_that_fail_harm_no_request(start, caplog, monkeypatch):
    heard = []

    def note_and_fail(event):
        heard.append(event)
        fail()

    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.light)
    client = EngineClient(on_ready=note_and_fail, on_lost=note_and_fail)
    try:
        assert client.submit(Make(reports=True), note_and_fail).result(PATIENCE_S)
        pid = client.host_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while not any(isinstance(event, HostLost) for event in heard):
            assert client.submit(Make()).result(PATIENCE_S)
    finally:
        client.shutdown()
    assert any(isinstance(event, Progress) for event in heard)
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * len(heard)


def test_that_a_process_that_outlives_its_kill_is_waited_for_in_peace(monkeypatch):
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.say_nothing)
    given_up, kills = threading.Event(), []
    ends = []

    class Unkillable(Host):
        def kill(self, reason):
            kills.append(reason)
            given_up.set()

    host = Unkillable(HostOptions(), lambda host, message: None, lambda host, reason: ends.append(reason))
    host.deadline = 0.0
    host.start()
    assert given_up.wait(PATIENCE_S)
    # It reads its deadline, which has passed, again.
    host._wake_sender.send(None)
    assert host.pid is not None
    os.kill(host.pid, signal.SIGTERM)
    assert host.join(PATIENCE_S)
    assert len(kills) == 1
    assert ends == ["it crashed (SIGTERM)"]
