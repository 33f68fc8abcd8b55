"""A picture is opened by a key, through the dialog, by a drop, and the work on it goes on."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.real_window.conftest import PLACES

pytestmark = pytest.mark.slow


@pytest.fixture
def picture(tmp_path):
    """A picture of 48 x 40 in a folder of its own."""
    path = tmp_path / "pictures" / "leaf.png"
    path.parent.mkdir()
    pixels = np.random.default_rng(1).integers(0, 255, (40, 48, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def test_that_work_goes_on_after_a_sample_was_opened_by_its_key(program, tmp_path):
    program.press("ctrl+alt+2")
    program.wait_for_title("camera.png")
    program.click_on("first cell")
    program.type("3\n")
    program.press("F3")
    program.wait_for_rest()
    program.press("alt+1", "ctrl+z", "ctrl+y")
    program.wait_for_title("camera.png")
    assert program.weights(tmp_path / "camera.json")[0][0] == 3


def test_that_a_picture_opens_when_it_is_dropped_on_the_window(program, picture, screen):
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


def test_that_a_result_is_saved_as_a_picture(start, picture, tmp_path):
    program = start(picture)
    program.wait_for_title("leaf.png")
    program.wait_for_rest()
    program.press("ctrl+s")
    program.answer("Save", tmp_path / "sharp.png")
    program.wait_until(lambda: list(tmp_path.glob("sharp.png")), "the saved result")
    with Image.open(tmp_path / "sharp.png") as saved, Image.open(picture) as original:
        assert saved.size == original.size
        assert not np.array_equal(np.asarray(saved), np.asarray(original)), "it was not sharpened"


def test_that_the_dialog_opens_the_path_typed_and_what_is_no_picture_is_refused(program, picture):
    (picture.parent / "words.png").write_text("no picture")
    program.press("ctrl+o")
    program.answer("Open a picture", picture.parent / "words.png")
    program.wait_until(lambda: program.shows_an_error, "the refusal")
    assert program.title == "astronaut.png – Haloscope"
    program.press("ctrl+o")
    program.answer("Open a picture", picture)
    program.wait_for_title("leaf.png")
