import pytest

from gui.explore.kernel.refusal_text import reasons_in_list, short_reason


@pytest.mark.parametrize(
    ("reason", "short"),
    [
        ("No NVIDIA driver was found. Install one.", "No NVIDIA driver was found"),
        ("It needs equal weights; that in row 1 is 0.3. Use tiled.", "It needs equal weights"),
        ("Not separable: its rank is 2, and 25 % are left over. Use tiled.", "Not separable: its rank is 2"),
        ("Its rank is 2.5 at most.", "Its rank is 2.5 at most"),
        ("", ""),
    ],
)
def test_that_a_reason_is_shown_up_to_its_first_stop(reason: str, short: str) -> None:
    assert short_reason(reason) == short


def test_that_neighbours_share_a_reason_and_others_repeat_it() -> None:
    driver, rank = "No driver. Install one.", "Rank 2; not 1. Use tiled."
    given = ["", driver, "No driver. Or else.", driver, "", rank, driver]
    assert reasons_in_list(given) == ["", "No driver (3 kernels)", "", "", "", "Rank 2", "No driver"]
