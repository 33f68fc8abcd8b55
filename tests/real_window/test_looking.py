"""The lens and a region with real keys and a real mouse."""

import json

import pytest

from engine.image.open import sample_path

pytestmark = pytest.mark.slow

# Beside the handle between original and result.
LENS_AT, FIRST, LAST = (600, 250), (520, 200), (620, 300)
# The button with three dots.
MORE = (512, 70)


@pytest.fixture(scope="module")
def arguments():
    return "--theme", "light", str(sample_path("astronaut"))


def test_that_a_pixel_is_pinned_walked_from_and_let_go(program):
    program.press("ctrl+l")
    program.wait_for_rest()
    program.click(*LENS_AT)
    program.wait_for_rest()
    pinned = program.screen.checksum()
    program.press("Right")
    program.wait_until(lambda: program.screen.checksum() != pinned, "the next pixel")
    program.wait_for_rest()
    walked = program.screen.checksum()
    program.press("Escape")
    program.wait_until(lambda: program.screen.checksum() != walked, "the lens that lets go")


def test_that_difference_and_error_are_chosen_from_the_menu_over_the_picture(program, tmp_path):
    for downs, mode in enumerate(("difference", "error"), start=1):
        program.click(*MORE)
        program.wait_for_rest()
        program.press(*["Down"] * downs, "Return")
        program.wait_for_rest()
        file = tmp_path / f"{mode}.haloscope"
        program.session(file)
        sections = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        (view,) = (section for section in sections if section["section"] == "view")
        assert view["mode"] == mode


def test_that_a_region_is_dragged_and_cropped_to(program, tmp_path):
    program.screen.xdotool("keydown", "shift")
    try:
        program.drag(FIRST, LAST)
    finally:
        program.screen.xdotool("keyup", "shift")
    program.wait_for_rest()
    program.press("ctrl+shift+x")
    program.wait_for_rest()
    picture = program.session(tmp_path / "cropped.haloscope")["picture"]
    top, bottom, left, right = picture["crop"]
    assert 0 < top < bottom < 512
    assert 0 < left < right < 512
    assert picture["path"].endswith("astronaut.png")
