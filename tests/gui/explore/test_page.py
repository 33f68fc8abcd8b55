import pytest

from gui.explore.page import no_run_sentence, run_sentence
from tests.made_runs import make_failure, make_result, make_simulated


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (make_result("tiled", 0.04), "Last run: Tiled, 0.0400 ms, verified: every pixel"),
        (make_failure("tiled", "The device failed: illegal address."), "illegal address"),
        (make_simulated("naive"), "its times mean nothing"),
        (make_failure("cpu-fft", "variant 'cpu-fft' here: row 50 is nan."), "Cpu-fft: Row 50 is nan."),
    ],
    ids=["timed", "failed", "simulated", "refused, without its name twice"],
)
def test_that_the_last_run_is_named_with_its_time_and_proof_or_why_it_has_none(result, words):
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
