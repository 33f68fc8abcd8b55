import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.device_info import Environment
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.measurement import RunResult, Spread, Timing
from engine.tasks.filtering.problem import Problem
from engine.verify.verification import Verification

PROOF = Verification(True, 1e-7, 3e-7, 63, 63, False)


def result_of(kernel_ms: float, **changes: object) -> RunResult:
    timing = Timing(Spread((kernel_ms,)), Spread((2 * kernel_ms,)), 12.0, 0.5)
    made = RunResult(
        "tiled", "Tiled", "cuda:0", Problem(7, 9, border=Border.WRAP), Block(8, 4), Environment("a GPU"),
        timing, PROOF, mask_name="box",
    )  # fmt: skip
    return replace(made, **changes)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30))
def test_that_a_spread_says_what_numpy_says(samples):
    spread = Spread(tuple(samples))
    assert spread.median_ms == pytest.approx(np.median(samples), rel=4e-16)
    assert spread.minimum_ms == min(samples)
    assert spread.p20_ms == pytest.approx(np.quantile(samples, 0.2), rel=1e-15)
    assert spread.p80_ms == pytest.approx(np.quantile(samples, 0.8), rel=1e-15)


@pytest.mark.parametrize(
    ("changes", "no_speed", "proof"),
    [
        ({}, "", "verified"),
        ({"verification": replace(PROOF, exact=True)}, "", "verified, exact"),
        ({"failure": "it broke"}, "failed", "failed"),
        ({"failure": "no GPU", "refused": True}, "cannot", "cannot"),
        ({"verification": None}, "not run yet", "not run yet"),
        ({"verification": replace(PROOF, passed=False)}, "not verified", "failed"),
        ({"timing": None}, "not timed", "verified, not timed"),
        ({"device": "simulator"}, "simulated", "verified, simulated"),
    ],
    ids=lambda value: str(list(value)) if isinstance(value, dict) else value,
)
def test_that_what_has_no_speed_says_why_in_a_word(changes, no_speed, proof):
    result = result_of(3.0, **changes)
    assert (result.no_speed, result.proof) == (no_speed, proof)
    assert (result.kernel_ms is None) == bool(no_speed)


def test_that_a_reason_does_not_name_its_variant_again():
    for status, told in (
        ("variant 'tiled': it is for CUDA devices. Take another.", "It is for CUDA devices. Take another."),
        ("variant 'tiled' with a block of 64 x 64: 4,096 threads: too many.", "4,096 threads: too many."),
        ("out of memory. Use a smaller picture.", "out of memory. Use a smaller picture."),
        ("variant 'naive': another one's.", "variant 'naive': another one's."),
        ("variant 'tiled' stopped", "variant 'tiled' stopped"),
    ):  # fmt: skip
        assert result_of(1.0, failure=status).reason == told
    wrong = result_of(1.0, verification=replace(PROOF, passed=False, reason="row 3 is off"))
    assert wrong.reason == "row 3 is off"


def test_that_scripts_can_ask_whether_something_is_a_result():
    assert isinstance(result_of(1.0), engine.RunResult)


def test_that_the_json_form_is_plain_and_has_raw_samples_and_medians():
    spread = Spread((3.0, 1.0, 2.0))
    timing = Timing(spread, spread, 12.0, 0.5, host_to_device=spread)
    data = json.loads(json.dumps(result_of(1.0, timing=timing).as_json(), allow_nan=False))
    assert data["timing"]["kernel"] == {
        "samples_ms": [3.0, 1.0, 2.0], "median_ms": 2.0, "p20_ms": 1.4, "p80_ms": 2.6, "minimum_ms": 1.0,
    }  # fmt: skip
    assert data["timing"]["host_to_device"]["median_ms"] == 2.0
    assert data["timing"]["device_to_host"] is None
    assert data["problem"]["border"] == "wrap"
    assert data["problem"]["mask_shape"] == [3, 3]
    assert data["block"] == {"x": 8, "y": 4}
    assert data["environment"]["device"] == "a GPU"
    assert data["status"] == PROOF.sentence()
    failed = result_of(1.0, timing=None, verification=None, failure="It failed: why. Do this.").as_json()
    assert (failed["timing"], failed["status"]) == (None, failed["failure"])


def test_that_a_proof_says_how_much_of_the_picture_it_covers():
    exact = replace(PROOF, exact=True).sentence()
    assert exact == "verified: every pixel matches the float64 reference exactly"
    part = replace(PROOF, checked_pixels=1000, total_pixels=4000)
    errors = "max error 1e-07, rounding bound 3e-07"
    assert part.sentence() == f"verified: 1,000 of 4,000 pixels within rounding, {errors}"
    assert replace(PROOF, passed=False, reason="row 3 is off").sentence() == "row 3 is off"
