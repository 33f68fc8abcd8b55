"""The program is started with files, good and bad, and closed with a question; a crash is found out."""

import os
import signal

import pytest
from PIL import Image

from bench.real_window import Program, Screen
from tests.real_window.conftest import Journey, check

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def picture(home):
    """A picture with a name of its own."""
    path = home / "leaf.png"
    Image.radial_gradient("L").resize((40, 40)).save(path)
    return path


@pytest.fixture(scope="module")
def arguments(picture):
    """A picture that is cut short."""
    damaged = picture.with_name("damaged.png")
    damaged.write_bytes(picture.read_bytes()[:60])
    return (damaged,)


def edit(program, number):
    program.click_on("first cell")
    program.press(str(number), "Return")
    program.wait_for_rest()


def ask(program):
    """Quit, and wait for the question."""
    program.press("ctrl+q")
    program.wait_for_dialog("Close")


def test_that_a_window_goes_on_after_a_damaged_picture(program):
    program.wait_until(lambda: program.shows_an_error, "the refusal")
    program.press("ctrl+alt+2")
    program.wait_for_title("camera.png")
    edit(program, 3)
    assert program.weights()[0][0] == 3


def test_that_work_is_kept_by_cancel_saved_by_save_and_there_at_the_next_start(program, start, picture):
    program.press("ctrl+o")
    program.answer("Open a picture", picture)
    program.wait_for_title("leaf.png")
    edit(program, 7)
    ask(program)
    program.press("Escape")
    program.wait_for_turn()
    program.wait_for_rest()
    assert not program.has_ended
    ask(program)
    program.press("alt+s")
    path = program.new_file(".haloscope")
    program.answer("Save", path, lambda: program.has_ended)
    assert program.wait_for_end() == 0
    again = start("--session", path)
    assert again.title == "leaf.png — Haloscope"
    again.press("ctrl+q")
    assert again.wait_for_end() == 0, "nothing was edited, so nothing is asked"
    assert b"leaf.png" in path.read_bytes()
    assert b"[[7" in path.read_bytes()


@pytest.fixture(scope="module")
def on_a_small_screen(tmp_path_factory):
    """The program on a screen of 1024 x 700."""
    folder = tmp_path_factory.mktemp("small")
    with Screen(folder, 1024, 700) as small:
        program = Journey(small, folder / "home")
        yield program
        program.kill()


def test_that_a_small_screen_shows_the_button_of_the_simulator_at_once(on_a_small_screen):
    program = on_a_small_screen
    program.wait_for_rest()
    program.click(976, 298)
    program.wait_for_rest()
    assert program.session()["step"]["settings"]["device"] == "simulator"
    check(program)


# The judgement of the other tests: a program that crashed, or never started, is found out.


def test_that_a_crash_is_found_in_the_log_and_in_the_status(on_a_small_screen):
    program = on_a_small_screen
    assert program.complaints() == []
    os.kill(program.process.pid, signal.SIGSEGV)
    assert program.wait_for_end() == -signal.SIGSEGV
    wrong = " ".join(program.complaints())
    assert "its crash log is not empty" in wrong
    assert "it ended with status -11" in wrong
    assert "Segmentation fault" in program.report()


def test_that_a_program_that_ends_before_its_window_is_no_success(screen, tmp_path):
    with pytest.raises(RuntimeError, match="no-such-option"):
        Program(screen, tmp_path / "home", "--no-such-option")
