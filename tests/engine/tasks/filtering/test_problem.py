import pytest

from engine.errors import BadValue
from engine.geometry.border import Border
from engine.tasks.filtering.problem import MAX_SIDE, Problem


def test_that_a_problem_counts_its_work_and_tells_types_and_channels():
    problem = Problem(5, 7, 3, "uint16", mask_shape=(3, 4), anchor=(0, 3))
    counts = (problem.taps, problem.samples, problem.multiply_adds, problem.itemsize)
    assert counts == (12, 105, 1260, 2)
    assert [Problem(1, 1, dtype=dtype).itemsize for dtype in ("uint8", "uint16", "float32")] == [1, 2, 4]
    texts = [Problem(5, 7, channels).size_text for channels in (1, 2, 3, 4)]
    assert texts == ["7 x 5 grey", "7 x 5 2 channels", "7 x 5 RGB", "7 x 5 4 channels"]


def test_that_only_a_constant_border_has_a_value_of_its_own():
    values = {border: Problem(1, 1, border=border, cval=2.5).ghost_value for border in Border}
    assert values == dict.fromkeys(Border, 0.0) | {Border.CONSTANT: 2.5}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"height": 0, "width": 3}, "a picture of 0 x 3"),
        ({"height": 3, "width": -1}, "a picture of 3 x -1"),
        ({"height": MAX_SIDE + 1, "width": 1}, "each side must have 1 to 16,777,216 pixels"),
        ({"height": 3, "width": 3, "channels": 0}, "a picture of 0 channels"),
        ({"height": 3, "width": 3, "channels": 5}, "groups of at most 4"),
        ({"height": 3, "width": 3, "dtype": "float64"}, "samples of type float64"),
        ({"height": 3, "width": 3, "dtype": "int16"}, "Convert the picture to float32"),
        ({"height": 3, "width": 3, "anchor": (3, 0)}, "Choose a row from 0 to 2"),
        ({"height": 3, "width": 3, "anchor": (0, -1)}, r"anchor \(0, -1\)"),
        ({"height": 2, "width": 2, "dtype": "uint8", "result_dtype": "uint16"},
         r"a result of type uint16 from a picture of uint8.*Choose float32 or uint8"),
        ({"height": 2, "width": 2, "result_dtype": "uint8"}, r"Choose float32\.$"),
    ],
)  # fmt: skip
def test_that_an_impossible_problem_is_refused_in_words(arguments, words):
    with pytest.raises(BadValue, match=words):
        Problem(**arguments)
