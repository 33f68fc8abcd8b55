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
    ("write", "written"),
    [
        # A duration has four digits and no exponent; what was not measured is a dash and not a zero.
        (ms_cell, {0.04123: "0.04123", 0.00012: "0.0001200", 18.4: "18.40", 8013.2: "8,013", 0.0: "0",
                   912.0: "912.0", None: MISSING}),
        (ms_text, {0.0412: "0.0412 ms"}),
        # A tick has the unit that suits it.
        (tick_text, {0.02: "20 µs", 5.0: "5 ms", 2000.0: "2 s", 1e-4: "100 ns", 1.0: "1 ms"}),
        # A speed-up has a multiplication sign; what is slower is said the other way round.
        (ratio_text, {1310.2: "1310×", 19.44: "19.4×", 31415.9: "31416×", 0.9996: "1.00×", None: MISSING,
                      0.0111: "90.1× slower", 0.000667: "1499× slower", 0.8: "1.25× slower"}),
        (error_text, {math.nan: "NaN", math.inf: "infinite", None: MISSING}),
        (lambda value: digits_text(value, 3), {math.nan: "NaN"}),
    ],
    ids=["cell", "words", "tick", "speed-up", "error", "digits"],
)  # fmt: skip
def test_that_numbers_are_written_as_people_read_them(write, written):
    assert {value: write(value) for value in written} == written
