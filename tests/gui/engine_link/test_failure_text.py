import pytest

from gui.engine_link.failure_text import why_no_time
from tests.gui.made_results import make_failure, make_unverified


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("variant 'tiled': it is written for CUDA devices. Choose another.", "It is written for CUDA devices. Choose another."),
        ("variant 'tiled' with a block of 64 x 64: 4,096 threads: too many.", "4,096 threads: too many."),
        ("out of memory. Use a smaller picture.", "out of memory. Use a smaller picture."),
        ("variant 'naive': another one's.", "variant 'naive': another one's."),
        ("variant 'tiled' stopped", "variant 'tiled' stopped"),
    ],
)  # fmt: skip
def test_that_only_the_name_of_its_own_variant_is_left_out(status: str, told: str) -> None:
    assert why_no_time(make_failure("tiled", status)) == told


def test_that_what_is_wrong_with_a_result_is_told_whole() -> None:
    result = make_unverified("tiled")
    assert why_no_time(result) == result.status
