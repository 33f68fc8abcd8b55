import math

import pytest

from engine.results.quantities import (
    MISSING,
    digits_text,
    error_text,
    ms_cell,
    ms_text,
    ratio_text,
    tick_text,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.04123, "0.04123"),
        (0.00012, "0.0001200"),
        (18.4, "18.40"),
        (8013.2, "8,013"),
        (0.0, "0"),
        (912.0, "912.0"),
    ],
)
def test_that_a_duration_has_four_digits_and_no_exponent(value: float, text: str) -> None:
    assert ms_cell(value) == text


def test_that_nothing_measured_is_a_dash_and_not_a_zero() -> None:
    assert ms_cell(None) == ratio_text(None) == error_text(None) == MISSING


def test_that_what_is_not_finite_is_named() -> None:
    assert digits_text(math.nan, 3) == error_text(math.nan) == "NaN"
    assert error_text(math.inf) == "infinite"


@pytest.mark.parametrize(
    ("ratio", "text"), [(1310.2, "1310×"), (19.44, "19.4×"), (31415.9, "31416×"), (0.9996, "1.00×")]
)
def test_that_a_speed_up_is_written_with_a_multiplication_sign(ratio: float, text: str) -> None:
    assert ratio_text(ratio) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.0111, "90.1× slower"), (0.000667, "1499× slower"), (0.8, "1.25× slower")]
)
def test_that_what_is_slower_is_told_the_other_way_round(ratio: float, text: str) -> None:
    assert ratio_text(ratio) == text


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(0.02, "20 µs"), (5.0, "5 ms"), (2000.0, "2 s"), (1e-4, "100 ns"), (10**0.0, "1 ms")],
)
def test_that_a_tick_has_the_unit_that_suits_it(duration_ms: float, text: str) -> None:
    assert tick_text(duration_ms) == text


def test_that_a_duration_in_words_has_its_unit() -> None:
    assert ms_text(0.0412) == "0.0412 ms"
