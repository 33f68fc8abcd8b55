"""The simulator for scripts: from any folder, without a main guard, from threads; its end is reported."""

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
from engine.errors import HostLost, UnsupportedVariant, VerificationFailed
from engine.host import executor as executor_module
from engine.host.executor import Call, SimulatorExecutor
from engine.results.progress import Progress
from engine.tasks.filtering import oracle
from engine.tasks.filtering.agreement import rounding_bound
from tests.engine.host.conftest import PATIENCE_S

ROOT = Path(executor_module.__file__).parents[2]

SCRIPT = """
import numpy, engine
picture = numpy.arange(63, dtype=numpy.uint8).reshape(7, 9)
print(engine.correlate(picture, [[0, 0, 1]], variant="tiled", device="simulator", block=(4, 4))[0, 0])
"""


def run_python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
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
def test_that_everything_of_the_request_arrives_and_threads_are_answered():
    image = np.random.default_rng(1).normal(size=(6, 5, 2)).astype(np.float32)
    mask = engine.Mask([[1.5, -2], [0.25, 3], [0.1, 7]], (2, 0), 12.5, "mine")
    how = {"border": "constant", "cval": -4.0, "block": "4x2", "flip": True, "layout": "packed"}
    applied = engine.apply(image, mask, variant="naive", device="simulator", **how)
    flipped = mask.flipped()
    wanted = oracle.correlate(image, flipped, engine.Border.CONSTANT, -4.0)
    bound = rounding_bound(oracle.magnitudes(image, flipped, engine.Border.CONSTANT, -4.0), 6)
    assert np.all(np.abs(applied.values - wanted) <= bound)
    result = applied.result
    assert (result.variant, result.device, result.mask_name, result.block, result.layout) == (
        "naive",
        "simulator",
        "mine",
        engine.Block(4, 2),
        "packed",
    )
    assert (result.problem.anchor, result.problem.cval) == (flipped.anchor, -4.0)
    assert (result.timing, result.kernel_ms) == (None, None)
    assert result.verification.passed

    def filtered(number):
        return engine.correlate(image, [[number]], variant="naive", device="simulator")

    with ThreadPoolExecutor(4) as pool:
        for number, values in enumerate(pool.map(filtered, range(4))):
            assert np.array_equal(values, number * image)


def wait_for_ever(checkpoint):
    clock = threading.Event()
    while not clock.wait(0.01):
        checkpoint(Progress("waiting", 0.0, 60.0))


def at_work_in(executor):
    """Return a call that the host has begun and that ends only where it is stopped."""
    begun = threading.Event()
    future = executor._client.submit(Call(wait_for_ever, ()), lambda step: begun.set())
    assert begun.wait(PATIENCE_S)
    return future


def pid_of_host(checkpoint):
    return os.getpid()


@pytest.mark.slow
def test_that_a_cancelled_call_stops_and_a_killed_host_is_reported_and_the_next_call_has_a_new_one():
    executor = SimulatorExecutor()
    try:
        first = executor.submit(pid_of_host).result(PATIENCE_S)
        assert executor.submit(wait_for_ever).cancel()
        assert executor.submit(pid_of_host).result(PATIENCE_S) == first
        at_work = at_work_in(executor)
        # It waits behind: its successor does it.
        behind = executor.submit(pid_of_host)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(HostLost, match=r"The simulator's process ended: it was killed \(SIGKILL\)"):
            at_work.result(PATIENCE_S)
        assert behind.result(PATIENCE_S) != first
    finally:
        executor.shutdown()


@pytest.mark.parametrize(
    "error", [VerificationFailed("a", "b", "c"), UnsupportedVariant("a", "b", "c", engine.Block(8, 4))]
)
def test_that_an_error_comes_back_as_it_was(error):
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), back.args) == (type(error), error.args)
    assert getattr(back, "nearest_block", None) == getattr(error, "nearest_block", None)


INTERRUPTED = """
import os, signal, threading
from engine.host import executor
from tests.engine.host.test_executor import at_work_in, pid_of_host
simulator = executor._simulator()
print(simulator.submit(pid_of_host).result(), flush=True)
future = at_work_in(simulator)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
future.result()
"""


@pytest.mark.slow
def test_that_ctrl_c_ends_a_script_and_its_host():
    done = run_python("-c", INTERRUPTED, folder=ROOT)
    assert done.stderr.rstrip().endswith("KeyboardInterrupt"), done.stderr
    assert done.stderr.count("Traceback") == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
