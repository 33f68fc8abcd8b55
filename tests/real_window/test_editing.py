"""The mask is edited, taken back, chosen from the presets; everything is run."""

import pytest
from PIL import Image

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    """A picture so small that every kernel is soon done with it."""
    path = tmp_path_factory.mktemp("pictures") / "small.png"
    Image.radial_gradient("L").resize((64, 64)).save(path)
    return (path,)


def test_that_the_rows_of_every_kernel_are_saved(program, tmp_path):
    program.press("ctrl+shift+r")
    program.wait_for_rest()
    found = program.rows(tmp_path / "rows.csv")
    assert len({row["variant"] for row in found}) == len(found) > 2
    assert all(row["status"].startswith("verified") for row in found)


def test_that_a_typed_cell_goes_through_undo_or_redo(program, tmp_path):
    before = program.weights(tmp_path / "before.json")
    program.click_on("first cell")
    program.type("3\n")
    edited = program.weights(tmp_path / "edited.json")
    assert [edited[0][0], *edited[0][1:], *edited[1:]] == [3, *before[0][1:], *before[1:]]
    program.press("ctrl+z")
    assert program.weights(tmp_path / "undone.json") == before
    program.press("ctrl+y")
    assert program.weights(tmp_path / "redone.json") == edited


def test_that_masks_are_found_in_the_library(program, tmp_path):
    seen = [program.weights(tmp_path / "0.json")]
    for word in ("box 5", "sobel y"):
        program.click_on("presets")
        program.wait_for_rest()
        program.type(word)
        program.press("Return")
        seen.append(program.weights(tmp_path / f"{word}.json"))
    assert [len(mask) for mask in seen] == [3, 5, 3]
    assert seen[2] == [[-1, -2, -1], [0, 0, 0], [1, 2, 1]]
