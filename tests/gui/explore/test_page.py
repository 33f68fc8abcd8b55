import pytest

from gui.explore.page import no_run_sentence, run_sentence
from tests.made_runs import make_result, make_simulated


def failed(variant, failure):
    return make_result(variant, timing=None, verification=None, failure=failure)


def test_that_the_last_run_is_told_with_its_proof():
    words = run_sentence(make_result("tiled", 0.04))
    assert "0.04" in words
    assert "verified on every pixel" in words


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (failed("tiled", "The device failed: illegal address."), "illegal address"),
        (make_simulated("naive"), "its times mean nothing"),
        (failed("cpu-fft", "variant 'cpu-fft' here: row 50 is nan."), "Last run: Cpu-fft: Row 50 is nan."),
    ],
    ids=["failed", "simulated", "refused, without its name twice"],
)
def test_that_a_run_without_a_time_says_why(result, words):
    assert words in run_sentence(result)


@pytest.mark.parametrize(
    ("engine_is_ready", "has_picture", "words"),
    [
        (True, False, "No run yet: open a picture first (Ctrl+O)."),
        (False, True, "No run yet: kernels run once the engine is up."),
        (True, True, "No run yet: press Run (Ctrl+R) to measure and verify."),
    ],
)
def test_that_without_a_run_it_says_what_is_missing_or_what_to_press(engine_is_ready, has_picture, words):
    assert no_run_sentence(engine_is_ready, has_picture) == words
