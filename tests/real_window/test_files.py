"""Pictures, sessions and folders are opened and saved, and quitting at any moment leaves whole files."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import engine
from tests.real_window.conftest import PLACES, Journey, by_name, kept, sections_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def picture(home):
    """A picture of 48 x 40 in a folder of its own."""
    path = home / "pictures" / "leaf.png"
    path.parent.mkdir()
    pixels = np.random.default_rng(1).integers(0, 255, (40, 48, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture(scope="module")
def arguments(picture):
    """The program begins with the picture."""
    return (picture,)


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
    program.type("3\n")
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
    program.press("ctrl+o")
    program.answer("Open a picture", fern)
    program.wait_for_title("fern.png")


def test_that_the_result_of_a_float_picture_is_saved_by_return(program, picture):
    ramp = picture.with_name("ramp.tif")
    Image.fromarray(np.tile(np.linspace(0, 1, 40, dtype=np.float32), (30, 1))).save(ramp)
    program.press("ctrl+o")
    program.answer("Open a picture", ramp)
    program.wait_for_title("ramp.tif")
    program.wait_for_rest()
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
    program.press("ctrl+o")
    program.answer("Open a picture", strange)
    program.wait_for_title("strange.npy")
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


def test_that_windows_have_their_own_masks_and_the_next_start_after_a_kill_restores_its_own_and_quits_running(
    screen, start, program, tmp_path
):
    home = tmp_path / "killed"
    killed = Journey(screen, home)
    for number, one in ((3, program), (7, killed)):
        screen.xdotool("windowactivate", "--sync", one.window)
        one.wait_for_turn()
        one.click_on("first cell")
        one.press(str(number), "Return")
        one.wait_for_rest()
    killed.wait_until(lambda: b"[[7" in kept(home), "the edit in a file")
    killed.crash()
    killed.kill()
    (home / "said.txt").unlink()
    other = start(home=home)
    other.click_on("Restore")
    other.wait_for_rest()
    other.press("ctrl+alt+3")
    other.wait_until(lambda: not other.title.startswith("astronaut"), "another picture")
    document, path = other.title, other.save_session()
    saved = by_name(sections_of(path))
    assert saved["step"]["mask"]["weights"][0][0] == 7
    other.press("ctrl+shift+r")
    other.wait_until(lambda: not other.is_idle, "the run of every kernel")
    assert other.quit() == 0
    assert kept(home) == b""
    program.wait_for_turn()
    assert program.weights()[0][0] == 3
    program.press("ctrl+shift+o")
    program.answer("Open", path.rename(program.new_file(".haloscope")))
    program.wait_until(lambda: program.title == document, f"the title {document}")
    program.wait_for_rest()
    assert program.session() == saved


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
    program.type("8")
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
    program.wait_until(lambda: b"[[8" in kept(program.home), "the edit in a file")
    assert program.discard_and_end() == 0
    assert kept(program.home) == b""
    for path in out.glob("*.png"):
        assert engine.open_image(path).pixels.shape == (700, 900, 3)
    assert len(list(out.glob("*.png"))) < 80
