import copy
import json

import pytest

from engine.device_info import Environment
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.measurement import RunResult, Spread, Timing
from engine.results.read import result_from_json
from engine.tasks.filtering.problem import Problem
from engine.tasks.work import Work
from engine.verify.verification import Verification

MEASURED = RunResult(
    variant="tiled",
    title="Tiled",
    device="cuda:0",
    problem=Problem(5, 7, 3, "uint8", (3, 5), (0, 4), Border.CONSTANT, 2.5),
    mask_name="Sobel x",
    block=Block(32, 8),
    environment=Environment("a GPU", "13.0", "1980 MHz", {"numba": "1"}, "abc"),
    timing=Timing(
        Spread((2.0, 1.0, 4.0)), Spread((9.0,)), 10.0, 0.5, Spread((3.0,)), None, "device events", "cold"
    ),
    verification=Verification(True, 1e-7, 3e-6, 30, 35, False),
    chosen_because="the fastest",
    seed=7,
    layout="packed",
    work=Work(3150, 1575, 105, 1575, 420, 525, 1500, 900, 100, 75),
)
FAILED = RunResult("naive", "Naive", "cuda:0", Problem(1, 1), "", None, Environment(""), failure="no driver")


@pytest.mark.parametrize("result", [MEASURED, FAILED], ids=["measured", "failed"])
def test_that_a_result_comes_back_from_json_as_it_was(result):
    assert result_from_json(json.loads(json.dumps(result.as_json(), allow_nan=False))) == result


def _without(data, *path):
    *parents, last = path
    for name in parents:
        data = data[name]
    del data[last]


def _with(data, value, *path):
    *parents, last = path
    for name in parents:
        data = data[name]
    data[last] = value


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: _without(data, "variant"),
        lambda data: _without(data, "problem", "anchor"),
        lambda data: _with(data, 3, "variant"),
        lambda data: _with(data, True, "problem", "height"),
        lambda data: _with(data, 0, "problem", "height"),
        lambda data: _with(data, "sideways", "problem", "border"),
        lambda data: _with(data, [3], "problem", "mask_shape"),
        lambda data: _with(data, [], "timing", "kernel", "samples_ms"),
        lambda data: _with(data, [float("nan")], "timing", "kernel", "samples_ms"),
        lambda data: _with(data, ["1"], "timing", "kernel", "samples_ms"),
        lambda data: _with(data, 1, "verification", "passed"),
        lambda data: _with(data, 3, "timing"),
        lambda data: _with(data, None, "environment"),
    ],
)
def test_that_a_spoilt_result_is_refused_in_words(spoil):
    data = copy.deepcopy(MEASURED.as_json())
    spoil(data)
    with pytest.raises(EngineError):
        result_from_json(data)


@pytest.mark.parametrize("data", [None, [], "result", 3])
def test_that_what_is_no_result_at_all_is_refused_in_words(data):
    with pytest.raises(EngineError):
        result_from_json(data)
