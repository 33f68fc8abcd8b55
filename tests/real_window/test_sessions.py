"""Sessions, quitting at any moment, and a folder of pictures that is filtered, which quitting asks about."""

import shutil

import numpy as np
import pytest

import engine
from tests.real_window.conftest import Journey, kept

pytestmark = pytest.mark.slow


def test_that_a_session_saved_in_a_start_that_is_quit_while_all_is_run_is_opened_in_another(
    start, program, tmp_path
):
    other = start()
    other.press("ctrl+alt+3")
    other.wait_until(lambda: not other.title.startswith("astronaut"), "another picture")
    document = other.title
    other.click_on("first cell")
    other.type("7\n")
    saved = other.session(tmp_path / "one.json")
    assert saved["step"]["mask"]["weights"][0][0] == 7
    other.press("ctrl+shift+r")
    other.wait_until(lambda: not other.is_idle, "the run of every kernel")
    assert other.quit() == 0
    program.wait_for_turn()
    program.press("ctrl+shift+o")
    program.answer("Open", tmp_path / "one.json")
    program.wait_until(lambda: program.title == document, f"the title {document}")
    program.wait_for_rest()
    assert program.session(tmp_path / "two.json") == saved


def test_that_a_killed_program_loses_no_edit_that_was_kept_and_the_next_quits_while_a_picture_opens(
    start, screen, tmp_path
):
    home = tmp_path / "killed"
    killed = Journey(screen, home)
    killed.click_on("first cell")
    killed.type("7")
    killed.press("Return")
    killed.wait_until(lambda: b"[[7" in kept(home), "the edit in a file")
    killed.crash()
    killed.kill()
    (home / "said.txt").unlink()
    program = start(home=home)
    program.click_on("Restore")
    program.wait_for_rest()
    assert program.weights(tmp_path / "restored.haloscope")[0][0] == 7
    # All is in a session; a picture that has opened by then is an edit, and is asked about.
    program.press("ctrl+alt+4", "ctrl+q")
    assert program.discard_and_end() == 0
    assert kept(home) == b""


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
