"""Ends and starts: after a crash, with a damaged file, in the midst of work, with a question or without one.

These are the last tests of the program of all files, which ends here: a start takes 3 CPU-seconds, so that
each window that was started shows several things.
"""

import json
import os
import shutil
import signal

import numpy as np
import pytest
from PIL import Image

import engine
from bench.real_window import Program, Screen
from gui.shell.pages import PAGES
from tests.real_window.conftest import Journey, by_name, check, geometry_of, kept, sections_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def picture(home):
    """A picture with a name of its own."""
    path = home / "leaf.png"
    Image.radial_gradient("L").resize((40, 40)).save(path)
    return path


def edit(program, number):
    program.click_on("first cell")
    program.press(str(number), "Return")
    program.wait_for_rest()


def ask(program):
    """Quit, and wait for the question."""
    program.press("ctrl+q")
    program.wait_for_dialog("Close")


def brightness(program):
    return float(program.screen.pixels().mean())


@pytest.fixture(scope="module")
def on_a_small_screen(tmp_path_factory, picture):
    """The program on a screen of 1024 x 700, started with a picture that is cut short."""
    folder = tmp_path_factory.mktemp("small")
    damaged = folder / "damaged.png"
    damaged.write_bytes(picture.read_bytes()[:60])
    with Screen(folder, 1024, 700) as small:
        program = Journey(small, folder / "home", str(damaged))
        yield program
        program.kill()


def test_that_a_window_goes_on_after_a_damaged_picture(on_a_small_screen):
    program = on_a_small_screen
    program.wait_until(lambda: program.shows_an_error, "the refusal")
    program.press("ctrl+alt+2")
    program.wait_for_title("camera.png")
    program.wait_for_rest()
    check(program)


def test_that_a_small_screen_shows_the_button_of_the_simulator_at_once(on_a_small_screen):
    program = on_a_small_screen
    program.click(976, 298)
    program.wait_for_rest()
    assert program.session()["step"]["settings"]["device"] == "simulator"
    program.press("ctrl+z")
    program.wait_for_rest()
    check(program)


# The judgement of the other tests: a program that crashed, or never started, is found out.


def test_that_windows_have_their_own_masks_and_a_crash_is_found_in_the_log_and_in_the_status(
    program, on_a_small_screen, begin, small
):
    crashed = on_a_small_screen
    begin(small)
    for number, one in ((3, program), (7, crashed)):
        edit(one, number)
        assert one.weights()[0][0] == number
    assert program.weights()[0][0] == 3
    assert crashed.complaints() == []
    os.kill(crashed.process.pid, signal.SIGSEGV)
    assert crashed.wait_for_end() == -signal.SIGSEGV
    wrong = " ".join(crashed.complaints())
    assert "its crash log is not empty" in wrong
    assert "it ended with status -11" in wrong
    assert "Segmentation fault" in crashed.report()


def test_that_a_program_that_ends_before_its_window_is_no_success(screen, tmp_path):
    with pytest.raises(RuntimeError, match="no-such-option"):
        Program(screen, tmp_path / "home", "--no-such-option")


def test_that_the_next_start_after_a_crash_restores_its_own_work_and_quits_while_it_runs_and_opens(
    start, program, on_a_small_screen
):
    home = on_a_small_screen.home
    on_a_small_screen.kill()
    for said in (home / "said.txt", *home.rglob("crash.log")):
        said.unlink()
    other = start(home=home)
    other.click_on("Restore")
    other.wait_for_rest()
    other.press("ctrl+alt+3")
    other.wait_until(lambda: not other.title.startswith(("astronaut", "camera")), "another picture")
    document, path = other.title, other.save_session()
    saved = by_name(sections_of(path))
    assert saved["step"]["mask"]["weights"][0][0] == 7
    other.press("ctrl+shift+r")
    other.wait_until(lambda: not other.is_idle, "the run of every kernel")
    # A picture that has opened by then is an edit, and is asked about.
    other.press("ctrl+alt+4")
    assert other.quit() == 0
    assert kept(home) == b""
    program.wait_for_turn()
    assert program.weights()[0][0] == 3
    program.press("ctrl+shift+o")
    program.answer("Open", path.rename(program.new_file(".haloscope")))
    program.wait_until(lambda: program.title == document, f"the title {document}")
    program.wait_for_rest()
    found = program.session()
    # This window has other pages, too.
    assert {name: found.get(name) for name in saved} == saved


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


def begun(program, photos, out):
    """Start a batch by the keyboard."""
    program.press("ctrl+shift+b")
    program.wait_for_dialog("Batch")
    program.press("ctrl+a")
    program.type(f"{photos}/*.png")
    program.press("alt+u", "ctrl+a")
    program.type(str(out))
    program.press("Return")
    program.wait_until(lambda: out.is_dir() and any(out.iterdir()), "the first result")


def test_that_a_folder_is_filtered_by_the_keyboard(program, photo, tmp_path):
    photos, out = copies(photo, tmp_path / "photos", 4), tmp_path / "out"
    begun(program, photos, out)
    program.wait_until(lambda: len(list(out.glob("*.png"))) == 4, "all results")
    program.wait_for_rest()
    program.press("Escape")
    program.wait_for_turn()


def test_that_quitting_asks_and_leaves_whole_files_and_the_next_start_looks_as_the_last_end(
    program, start, picture, photo, tmp_path
):
    screen = program.screen
    for number, _ in enumerate(PAGES, start=1):
        program.press(f"alt+{number}")
        program.wait_for_rest()
    program.press("alt+1")
    program.open(picture)
    edit(program, 8)
    light, first = brightness(program), geometry_of(screen, program.window)
    program.press("ctrl+comma")
    program.wait_for_dialog("Preferences")
    program.press("alt+t", "d")
    program.wait_for_rest()
    program.press("Escape")
    program.wait_for_turn()
    program.wait_for_rest()
    assert brightness(program) < light / 2
    screen.xdotool("windowsize", "--sync", program.window, 1100, 680)
    screen.xdotool("windowmove", "--sync", program.window, 60, 50)
    program.wait_for_rest()
    moved = geometry_of(screen, program.window)
    assert moved != first
    photos, out = copies(photo, tmp_path / "photos", 80), tmp_path / "out"
    begun(program, photos, out)
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
    (path,) = program.home.rglob("preferences.json")
    kept_preferences = json.loads(path.read_text(encoding="utf-8"))
    assert (kept_preferences["theme"], kept_preferences["arranged"].keys()) == (
        "dark",
        {page.key for page in PAGES},
    )
    again = start(home=program.home)
    assert brightness(again) < light / 2
    assert geometry_of(screen, again.window) == moved
    assert again.title != "leaf.png — Haloscope"
    again.press("ctrl+shift+t")
    again.wait_for_title("leaf.png")
    again.wait_for_rest()
    # Work is kept by Cancel, saved by Save and there at the next start.
    again.write_mask("7 1 2; 1 1 1; 1 1 1")
    ask(again)
    again.press("Escape")
    again.wait_for_turn()
    again.wait_for_rest()
    assert not again.has_ended
    ask(again)
    again.press("alt+s")
    path = again.new_file(".haloscope")
    again.answer("Save", path, lambda: again.has_ended)
    assert again.wait_for_end() == 0
    assert b"leaf.png" in path.read_bytes()
    assert b"[[7" in path.read_bytes()
    last = start("--theme", "light", "--session", path)
    assert last.title == "leaf.png — Haloscope"
    last.press("ctrl+w")
    assert last.wait_for_end() == 0, "nothing was edited, so nothing is asked"
