"""Pictures are opened, dropped and saved."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.real_window.conftest import PLACES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def picture(home, begin):
    """A picture of 48 x 40 in a folder of its own; the program shows it."""
    path = home / "pictures" / "leaf.png"
    path.parent.mkdir()
    pixels = np.random.default_rng(1).integers(0, 255, (40, 48, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    begin(path)
    return path


def test_that_a_result_is_saved_as_a_picture(program, picture):
    program.wait_for_title("leaf.png")
    sharp = program.new_file(".png")
    program.press("ctrl+s")
    program.answer("Save", sharp)
    program.wait_until(sharp.exists, "the saved result")
    with Image.open(sharp) as saved, Image.open(picture) as original:
        assert saved.size == original.size
        assert not np.array_equal(np.asarray(saved), np.asarray(original)), "it was not sharpened"


def test_that_work_goes_on_after_a_sample_was_opened_by_its_key(program):
    program.press("ctrl+alt+2")
    program.wait_for_title("camera.png")
    program.click_on("first cell")
    program.enter("3")
    program.press("F3")
    program.wait_for_rest()
    program.press("alt+1", "ctrl+z", "ctrl+y")
    program.wait_for_title("camera.png")
    assert program.weights()[0][0] == 3


def test_that_a_picture_opens_when_it_is_dropped_on_the_window(program, picture, screen):
    assert program.title != "leaf.png — Haloscope"
    before = screen.pixels()
    script = Path(__file__).with_name("drag_source.py")
    with subprocess.Popen(
        [sys.executable, str(script), str(picture)],
        env=screen.environment | {"QT_QPA_PLATFORM": "xcb"},
        stdout=subprocess.PIPE,
        text=True,
    ) as source:
        window = program.wait_until(lambda: screen.xdotool("search", "--name", "^Files$"), "the file manager")
        program.wait_until(lambda: not np.array_equal(screen.pixels(), before), "the file manager")
        screen.drag((window, 20, 20), (program.window, *PLACES["picture"]), is_dropped=False)
        assert source.stdout.readline() == "the window takes it\n"
        screen.xdotool("mouseup", 1)
        try:
            program.wait_for_title("leaf.png")
        finally:
            # Not earlier: the window asks it for what was dropped.
            source.terminate()


def test_that_the_dialog_opens_the_path_typed_after_one_that_is_no_picture_was_refused(program, picture):
    before, words, fern = program.title, picture.with_name("words.png"), picture.with_name("fern.png")
    words.write_text("no picture")
    shutil.copy(picture, fern)
    program.press("ctrl+o")
    program.answer("Open a picture", words)
    program.wait_until(lambda: program.shows_an_error, "the refusal")
    assert program.title == before
    program.open(fern)


def test_that_the_result_of_a_float_picture_is_saved_by_return(program, picture):
    ramp = picture.with_name("ramp.tif")
    Image.fromarray(np.tile(np.linspace(0, 1, 40, dtype=np.float32), (30, 1))).save(ramp)
    program.open(ramp)
    before = set(picture.parent.iterdir())
    program.press("ctrl+s")
    program.wait_for_dialog("Save")
    program.press("Return")
    program.wait_for_turn()
    (saved,) = program.wait_until(lambda: set(picture.parent.iterdir()) - before, "the saved result")
    with Image.open(saved) as found:
        assert found.mode == "F"


def test_that_a_picture_of_nan_and_infinity_prints_nothing_on_the_terminal(program, picture):
    strange = picture.with_name("strange.npy")
    pixels = np.random.default_rng(2).random((40, 48), np.float32)
    pixels[3:20], pixels[25, :] = np.nan, np.inf
    np.save(strange, pixels)
    program.open(strange)
    program.press("ctrl+r")
    program.wait_for_rest()
    # The lens on a pixel, and the difference, the first of the other ways to look.
    program.click(267, 65)
    program.wait_for_rest()
    program.click_on("picture")
    program.wait_for_rest()
    program.click(511, 70)
    program.wait_for_rest()
    program.press("Down", "Return")
    program.wait_for_rest()
    program.click(383, 70)
