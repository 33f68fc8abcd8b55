"""Clipboard, palette, help, full screen: what an image program is expected to do."""

import subprocess
import sys

import pytest

from tests.real_window.conftest import geometry_of

pytestmark = pytest.mark.slow

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


def test_that_a_command_is_found_by_a_few_letters(program, tmp_path):
    program.command("so x")
    assert program.weights(tmp_path / "sobel.json") == [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]


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


def test_that_numbers_of_another_program_are_pasted_into_the_mask(program, other, tmp_path):
    assert other(f"TEXT = '[[1, 2, 3], [4, 5, 6]]'\n{COPIES_TEXT}") == "copied"
    program.click_on("picture")
    program.press("ctrl+v")
    program.wait_for_rest()
    assert program.weights(tmp_path / "pasted.haloscope") == [[1, 2, 3], [4, 5, 6]]
    program.press("ctrl+z")


def test_that_pasted_words_are_refused_and_the_mask_stays(program, other, tmp_path):
    before = program.weights(tmp_path / "before.haloscope")
    assert other(f"TEXT = 'no numbers at all'\n{COPIES_TEXT}") == "copied"
    program.click_on("picture")
    program.press("ctrl+v")
    program.wait_until(lambda: program.shows_an_error, "the refusal")
    program.click_on("close the message")
    program.wait_until(lambda: not program.shows_an_error, "no message")
    assert program.weights(tmp_path / "after.haloscope") == before


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
