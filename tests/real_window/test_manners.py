"""Chains, the lens and a region, clipboard, palette, help, full screen: by keys and mouse."""

import json
import subprocess
import sys

import pytest

from engine.image.open import sample_path
from tests.real_window.conftest import geometry_of, sections_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _begin(begin):
    """A picture in a file."""
    begin(sample_path("astronaut"))


FIRST_STEP, SECOND_STEP, FIRST_EYE = (200, 107), (200, 147), (92, 107)


def steps(program):
    """Return the steps of the page, by way of the session."""
    return [section for section in program.sections() if section["section"] == "step"]


def test_that_a_ready_chain_is_found_run_and_taken_back(program):
    before = steps(program)
    program.command("Sobel magnitude")
    found = steps(program)
    assert [step.get("operation", "") for step in found] == ["", "", "combine"]
    program.press("ctrl+r")
    program.wait_for_rest()
    sections = program.session()
    assert "Sobel magnitude" in json.dumps(sections["result"])
    program.press("ctrl+z")
    program.wait_for_rest()
    assert steps(program) == before


def test_that_a_row_is_dragged_below_another_one(program):
    program.command("Sobel magnitude")
    found = steps(program)
    program.drag(FIRST_STEP, SECOND_STEP)
    program.wait_for_rest()
    first, second, *_ = steps(program)
    assert [second["id"], first["id"]] == [step["id"] for step in found[:2]]
    # The move, and the chain.
    program.press("ctrl+z", "ctrl+z")
    program.wait_for_rest()


def test_that_the_eye_of_a_row_that_was_clicked_switches_it(program):
    program.command("Sobel magnitude")
    program.click(*FIRST_STEP)
    program.click(*FIRST_EYE)
    program.wait_for_rest()
    first, *_ = steps(program)
    # The switch, and the chain.
    program.press("ctrl+z", "ctrl+z")
    program.wait_for_rest()
    assert first["on"] is False


def test_that_a_step_is_added_by_a_key_edited_and_removed(program):
    before = steps(program)
    program.press("ctrl+alt+a")
    program.wait_for_rest()
    found = steps(program)
    assert len(found) == 2
    program.command("Remove step")
    assert steps(program) == before


# Beside the handle between original and result.
LENS_AT, FIRST, LAST = (600, 250), (520, 200), (620, 300)
# The button with three dots.
MORE = (512, 70)


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


def test_that_difference_and_error_are_chosen_from_the_menu_over_the_picture(program):
    for downs, mode in enumerate(("difference", "error"), start=1):
        program.click(*MORE)
        program.wait_for_rest()
        program.press(*["Down"] * downs, "Return")
        program.wait_for_rest()
        saved = sections_of(program.save_session())
        (view,) = (section for section in saved if section["section"] == "view")
        assert view["mode"] == mode


def test_that_a_region_is_dragged_and_cropped_to(program):
    program.screen.xdotool("keydown", "shift")
    try:
        program.drag(FIRST, LAST)
    finally:
        program.screen.xdotool("keyup", "shift")
    program.wait_for_rest()
    program.press("ctrl+shift+x")
    program.wait_for_rest()
    picture = program.session()["picture"]
    top, bottom, left, right = picture["crop"]
    assert 0 < top < bottom < 512
    assert 0 < left < right < 512
    assert picture["path"].endswith("astronaut.png")


# Keeps a picture on the clipboard until it is ended: X11 asks the program that copied it.
COPIES = """
import sys
from PySide6.QtGui import QColor, QGuiApplication, QImage
app = QGuiApplication(sys.argv)
image = QImage(40, 30, QImage.Format.Format_RGB888)
image.fill(QColor("red"))
QGuiApplication.clipboard().setImage(image)
print("copied", flush=True)
app.exec()
"""
# Says the size of the picture on the clipboard.
PASTES = """
import sys
from PySide6.QtGui import QGuiApplication
app = QGuiApplication(sys.argv)
image = QGuiApplication.clipboard().image()
print(image.width(), image.height(), flush=True)
"""


@pytest.fixture
def other(screen):
    """Another program; returns the process after its first line."""
    processes = []

    def run(code):
        environment = screen.environment | {"QT_QPA_PLATFORM": "xcb"}
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        return process.stdout.readline().strip()

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def test_that_a_picture_of_another_program_is_pasted(program, other):
    assert other(COPIES) == "copied"
    program.click_on("picture")
    program.press("ctrl+v")
    program.wait_for_title("Clipboard.png")


def test_that_the_result_is_pasted_into_another_program(program, other):
    program.press("ctrl+alt+2")
    program.wait_for_title("camera.png")
    program.wait_for_rest()
    program.press("ctrl+alt+c")
    program.wait_for_rest()
    assert other(PASTES) == "512 512"


def test_that_a_command_is_found_by_a_few_letters(program):
    program.command("so x")
    assert program.weights() == [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]


def test_that_f1_explains_the_panel_and_escape_closes_it(program):
    program.click_on("kernels")
    program.press("F1")
    program.wait_for_dialog("Documentation")
    program.wait_for_rest()
    program.press("Escape")
    program.wait_for_turn()


def test_that_f11_fills_the_screen_and_gives_it_back(program):
    screen = program.screen
    before = geometry_of(screen, program.window)
    program.press("F11")
    whole = (0, 0, screen.width, screen.height)
    program.wait_until(lambda: geometry_of(screen, program.window) == whole, "a full screen")
    program.press("F11")
    program.wait_until(lambda: geometry_of(screen, program.window) == before, "the window as before")


# Puts a text on the clipboard, as COPIES a picture.
COPIES_TEXT = COPIES.replace("setImage(image)", "setText(TEXT)")
PASTES_TEXT = """
import sys
from PySide6.QtGui import QGuiApplication
app = QGuiApplication(sys.argv)
print(repr(QGuiApplication.clipboard().text()), flush=True)
"""


def test_that_numbers_of_another_program_are_pasted_into_the_mask(program, other):
    assert other(f"TEXT = '[[1, 2, 3], [4, 5, 6]]'\n{COPIES_TEXT}") == "copied"
    program.click_on("picture")
    program.press("ctrl+v")
    program.wait_for_rest()
    assert program.weights() == [[1, 2, 3], [4, 5, 6]]
    program.press("ctrl+z")


def test_that_pasted_words_are_refused_and_the_mask_stays(program, other):
    before = program.weights()
    assert other(f"TEXT = 'no numbers at all'\n{COPIES_TEXT}") == "copied"
    program.click_on("picture")
    program.press("ctrl+v")
    program.wait_until(lambda: program.shows_an_error, "the refusal")
    program.click_on("close the message")
    program.wait_until(lambda: not program.shows_an_error, "no message")
    assert program.weights() == before


def test_that_the_settings_are_copied_as_a_command_line(program, other):
    program.command("copy as command")
    assert "filter" in other(PASTES_TEXT)


def test_that_letters_become_larger_and_small_again(program):
    shown = []
    for size in ("130", "100"):
        program.press("ctrl+comma")
        program.wait_for_dialog("Preferences")
        program.press("alt+l", "ctrl+a")
        program.type(f"{size}\t")
        program.wait_for_rest()
        program.press("Escape")
        program.wait_for_turn()
        program.wait_for_rest()
        shown.append(program.screen.checksum())
    assert shown[0] != shown[1]


def test_that_the_keys_are_listed(program):
    program.press("shift+F1")
    program.wait_for_dialog("Preferences")
    program.press("Escape")
    program.wait_for_turn()
