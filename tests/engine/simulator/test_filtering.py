import io
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.errors import BadValue, HostLost, UnsupportedVariant, VerificationFailed
from engine.results.read import result_from_json
from engine.simulator import filtering as simulation
from engine.simulator.process import ask_child, error_as_json, error_from_json, pack, unpack
from engine.tasks.filtering import oracle
from engine.tasks.filtering.agreement import rounding_bound
from tests.made_runs import PROVED, make_result

ROOT = Path(simulation.__file__).parents[2]

SCRIPT = """
import numpy, engine
picture = numpy.arange(63, dtype=numpy.uint8).reshape(7, 9)
print(engine.correlate(picture, [[0, 0, 1]], variant="tiled", device="simulator", block=(4, 4))[0, 0])
"""


def test_that_a_script_without_a_main_guard_can_use_it_from_any_folder(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    # A folder of the same name where the person stands must not be taken for ours.
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("raise SystemExit('the wrong engine')")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-P", str(tmp_path / "script.py")]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.returncode) == ("1.0\n", 0), done.stderr


def test_that_everything_of_the_request_arrives():
    image = np.random.default_rng(1).normal(size=(6, 5, 2)).astype(np.float32)
    mask = engine.Mask([[1.5, -2], [0.25, 3], [0.1, 7]], (2, 0), 12.5, "mine")
    applied = engine.apply(
        image,
        mask,
        border="constant",
        cval=-4.0,
        variant="naive",
        device="simulator",
        block="4x2",
        flip=True,
        layout="packed",
    )
    flipped = mask.flipped()
    wanted = oracle.correlate(image, flipped, engine.Border.CONSTANT, -4.0)
    bound = rounding_bound(oracle.magnitudes(image, flipped, engine.Border.CONSTANT, -4.0), 6)
    assert np.all(np.abs(applied.values - wanted) <= bound)
    result = applied.result
    assert (result.variant, result.device, result.mask_name, result.block) == (
        "naive",
        "simulator",
        "mine",
        engine.Block(4, 2),
    )
    assert result.layout == "packed"
    assert (result.problem.anchor, result.problem.cval) == (flipped.anchor, -4.0)
    assert result.timing is None
    assert result.kernel_ms is None
    assert result.verification.passed


@pytest.mark.parametrize(
    ("shape", "options", "error", "says"),
    [
        ((8, 8), {"block": (64, 32)}, UnsupportedVariant, "2,048 threads"),
        ((8, 65), {}, BadValue, "65 x 8 in the simulator"),
    ],
    ids=["block", "size"],
)
def test_that_what_cannot_be_done_is_refused_without_starting_it(monkeypatch, shape, options, error, says):
    monkeypatch.setattr(simulation, "ask_child", None)
    with pytest.raises(error, match=says):
        engine.correlate(np.zeros(shape), [[1]], variant="tiled", device="simulator", **options)


def test_that_the_end_of_the_child_is_told_in_words():
    with pytest.raises(
        HostLost, match=r"The CUDA simulator: its process ended with status 1; .+\. Try again"
    ):
        ask_child("engine.simulator.filtering", b"no request", 60.0)


def test_that_a_child_without_end_is_given_up():
    with pytest.raises(HostLost, match=r"it gave no answer in 0 s\. Choose a smaller problem"):
        ask_child("engine.simulator.filtering", b"", 0.01)


def test_that_a_python_that_cannot_be_started_is_told_in_words(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(HostLost, match="its process cannot be started"):
        ask_child("engine.simulator.filtering", b"", 60.0)


@pytest.mark.parametrize(
    "error",
    [
        None,
        VerificationFailed("a", "b", "c"),
        UnsupportedVariant("a", "b", "c", engine.Block(8, 4)),
        UnsupportedVariant("a", "b", "c"),
    ],
)
def test_that_an_error_comes_back_as_it_was(error):
    back = error_from_json(error_as_json(error))
    assert type(back) is type(error)
    if error is not None:
        assert back.args == error.args
        assert getattr(back, "nearest_block", None) == getattr(error, "nearest_block", None)


def test_that_a_wrong_result_with_nan_comes_back_from_the_child():
    wrong = replace(PROVED, passed=False, max_error=math.nan, bound=math.inf, reason="row 0 is nan")
    result = make_result("naive", timing=None, verification=wrong)
    header, _ = unpack(io.BytesIO(pack({"result": result.as_json()}, {})))
    found = result_from_json(header["result"]).verification
    assert math.isnan(found.max_error)
    assert (found.bound, found.passed) == (math.inf, False)
