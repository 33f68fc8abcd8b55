"""A folder of pictures is filtered from the window, by the keyboard; the window asks before it ends that."""

import shutil

import numpy as np
import pytest

import engine
from tests.real_window.conftest import kept

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def photo(tmp_path_factory):
    """Return a picture that takes a while to encode."""
    path = tmp_path_factory.mktemp("photo") / "noise.png"
    engine.save_image(np.random.default_rng(2).integers(0, 256, (700, 900, 3), np.uint8), path)
    return path


def copies(photo, folder, number):
    """Return a folder with so many copies of a picture."""
    folder.mkdir()
    for one in range(number):
        shutil.copy(photo, folder / f"{one}.png")
    return folder


def begun(program, screen, photos, out):
    """Start a batch by the keyboard."""
    program.press("ctrl+shift+b")
    program.wait_for_dialog("Batch")
    program.press("ctrl+a")
    program.type(f"{photos}/*.png")
    program.press("alt+u", "ctrl+a")
    program.type(str(out))
    program.press("Return")
    program.wait_until(lambda: out.is_dir() and any(out.iterdir()), "the first result")


def test_that_a_folder_is_filtered_by_the_keyboard(program, screen, photo, tmp_path):
    photos, out = copies(photo, tmp_path / "photos", 8), tmp_path / "out"
    begun(program, screen, photos, out)
    program.wait_until(lambda: len(list(out.glob("*.png"))) == 8, "all results")
    program.wait_for_rest()
    program.press("Escape")
    program.wait_for_turn()


def test_that_quitting_asks_and_leaves_whole_files(program, screen, photo, tmp_path):
    photos, out = copies(photo, tmp_path / "photos", 80), tmp_path / "out"
    program.click_on("first cell")
    program.type("7")
    program.press("Return")
    begun(program, screen, photos, out)
    program.press("Escape")
    program.wait_for_turn()
    program.press("ctrl+q")
    # It does not come to rest before the batch ends, and closes then.
    program.wait_until(lambda: screen.focused.startswith("Close"), "the question about the batch")
    about_batch = screen.xdotool("getactivewindow")
    program.press("alt+d")
    program.wait_until(
        lambda: screen.focused.startswith("Close") and screen.xdotool("getactivewindow") != about_batch,
        "the question about the edit",
    )
    program.wait_until(lambda: b"[[7" in kept(program.home), "the edit in a file")
    program.press("alt+d")
    assert program.wait_for_end() == 0
    assert kept(program.home) == b""
    for path in out.glob("*.png"):
        assert engine.open_image(path).pixels.shape == (700, 900, 3)
    assert len(list(out.glob("*.png"))) < 80
