"""`python main.py` in an X server of its own, driven by keys and clicks: one of each for all files of tests.

A start takes 3 CPU-seconds. The last file, test_starting, has what happens at ends and at further starts.
"""

import csv
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image

from bench.real_window import Program, Screen, wait_until
from gui.style.theme import DARK, LIGHT

# Places in a window of 1278 x 775, as it is at the first start on a screen of 1280 x 800.
PLACES = {
    "operation": (248, 100),
    "presets": (199, 140),
    "rows": (132, 176),
    "first cell": (125, 220),
    "last cell of the first row": (300, 220),
    "brush": (257, 388),
    "border": (179, 421),
    "flip": (90, 449),
    "history": (128, 119),
    "picture": (700, 300),
    "drawing": (200, 200),
    "kernels": (980, 120),
    "CPU, one thread": (1059, 143),
    "device": (1157, 455),
    "first run": (139, 633),
    "second run": (139, 657),
    "close the message": (927, 462),
    "Restore": (809, 462),
}


def geometry_of(screen, window):
    """Return left, top, width, height of a window without its frame."""
    words = screen.xdotool("getwindowgeometry", "--shell", window).split()
    found = dict(word.split("=") for word in words)
    return tuple(int(found[name]) for name in ("X", "Y", "WIDTH", "HEIGHT"))


class Journey(Program):
    """The program, with the steps that several journeys take."""

    def __init__(self, screen: Screen, home: Path, *arguments: str) -> None:
        self._numbers = itertools.count(100)
        super().__init__(screen, home, *arguments)

    def click_on(self, name: str, times: int = 1) -> None:
        """Click on one of the places."""
        self.click(*PLACES[name], times=times)

    def enter(self, text: str) -> None:
        """Type a text into a field; wait until it is taken: a click before that makes Qt say so on stderr."""
        self.type(text)
        self.press("Return")
        self.wait_for_rest()

    def choose(self, name: str, *keys: str) -> None:
        """Open the list at one of the places, and go to an entry by keys."""
        self.click_on(name)
        self.wait_for_rest()
        self.press(*keys, "Return")
        self.wait_for_rest()

    def simulate(self) -> None:
        """Choose the CUDA simulator by keys."""
        self.press("alt+d")
        self.wait_for_rest()
        self.press("alt+Down")
        self.wait_for_rest()
        self.type("cuda s")
        self.press("Return")
        self.wait_for_rest()

    def wait_for_dialog(self, title: str) -> None:
        """Wait until a window whose title begins so takes the keys, and has come to rest.

        A file dialog that is not at rest takes what is typed for a choice in its list: the folder is lost.
        """
        self.wait_until(lambda: self.screen.focused.startswith(title), f"the window '{title}'")
        self.wait_for_rest()

    def answer(self, title: str, path: Path, is_done: Callable[[], bool] | None = None) -> None:
        """Type a path into the file dialog with this title; wait for the window's turn, or for `is_done`."""
        is_done = is_done or self.has_turn
        self.wait_for_dialog(title)
        # At each "/" the dialog lists a folder: to list all of /tmp takes the window 0.2 CPU-seconds.
        self.type(f"~/{path.relative_to(self.home)}" if path.is_relative_to(self.home) else str(path))
        # The dialog completes what is typed, and is not done with that at once.
        self.wait_for_rest()
        self.press("Return")
        try:
            self.wait_until(is_done, "an answer that was taken", limit_s=5.0)
        except TimeoutError:
            self.wait_for_rest()
            # On a loaded machine the list of what could be meant came late, and took the key.
            if self.screen.focused.startswith(title):
                self.press("Return")
            self.wait_until(is_done, "an answer that was taken")

    def has_turn(self) -> bool:
        """Return whether keys go to the window: they go nowhere while a dialog or another window closes."""
        return self.screen.xdotool("getactivewindow") == self.window

    def wait_for_turn(self) -> None:
        """Wait until keys go to the window."""
        self.wait_until(self.has_turn, "the window's turn")

    def discard_and_end(self) -> int:
        """Discard what is asked about until the program has ended; return its exit status."""

        def has_answered() -> bool:
            # A question that came just now may not take its first key on a loaded machine.
            if not self.has_ended and self.screen.focused.startswith("Close"):
                self.press("alt+d")
            return self.has_ended

        wait_until(has_answered, "the program's end")
        return self.wait_for_end()

    def wait_for_title(self, document: str) -> None:
        """Wait until the window shows this document."""
        self.wait_until(lambda: self.title == f"{document} — Haloscope", f"the title {document}")

    def command(self, text: str) -> None:
        """Choose what the command palette finds by a few letters."""
        self.press("ctrl+shift+p")
        self.wait_for_dialog("Commands")
        self.type(text)
        self.wait_for_rest()
        self.press("Return")
        self.wait_for_turn()
        self.wait_for_rest()

    def write_mask(self, text: str) -> None:
        """Type a mask as text in its dialog."""
        self.press("ctrl+alt+x")
        self.wait_for_dialog("Mask as text")
        self.type(text)
        self.press("Tab", "Return")
        self.wait_for_turn()

    def new_file(self, ending: str) -> Path:
        """Return a path beside all that was saved before; no file has it."""
        return self.home / f"{next(self._numbers)}{ending}"

    def rows(self) -> list[dict[str, str]]:
        """Save the table of runs, and return its rows."""
        path = self.new_file(".csv")
        self.press("ctrl+e")
        self.answer("Save", path)
        self.wait_until(path.exists, "the saved rows")
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def save_session(self) -> Path:
        """Save the session in a new file, and return its path."""
        path = self.new_file(".haloscope")
        self.press("ctrl+shift+s")
        self.answer("Save the session", path)
        self.wait_until(path.exists, "the saved session")
        # Its last line.
        self.wait_until(lambda: b'"end"' in path.read_bytes(), "all of the session")
        return path

    def sections(self) -> list[dict[str, Any]]:
        """Return the sections of the session as it is kept against a crash, or saved where all is saved.

        To save one asks for a file, which takes 0.2 CPU-seconds. A change of the view alone is not kept.
        """
        self.wait_for_rest()
        # It is kept half a second after an edit.
        time.sleep(0.2)
        self.wait_for_rest()
        files = kept_files(self.home)
        return sections_of(files[0] if len(files) == 1 else self.save_session())

    def session(self) -> dict[str, Any]:
        """Return the sections of the session but the view, by their names."""
        return by_name(self.sections())

    def weights(self) -> list[list[float]]:
        """Return the weights of the mask, by way of the session."""
        return self.session()["step"]["mask"]["weights"]

    def open(self, path: Path) -> None:
        """Open a picture by its dialog."""
        self.press("ctrl+o")
        self.answer("Open a picture", path)
        self.wait_for_title(path.name)
        self.wait_for_rest()

    @property
    def shows_an_error(self) -> bool:
        """Whether a message has the edge of an error, 4 pixels wide; notes have another colour."""
        for theme in (LIGHT, DARK):
            edge = self.screen.has(int(theme.error[1:], 16))
            # Rows with 4 pixels of it side by side, then 20 of these below one another: all windows at once
            # take half a second.
            wide = edge[:, :-3] & edge[:, 1:-2] & edge[:, 2:-1] & edge[:, 3:]
            if wide.any() and sliding_window_view(wide[:, wide.any(axis=0)], 20, axis=0).all(axis=-1).any():
                return True
        return False


def sections_of(path: Path) -> list[dict[str, Any]]:
    """Return the sections of a saved session."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def by_name(sections: list[dict[str, Any]]) -> dict[str, Any]:
    """Return sections but the view, which no edit changes, by their names."""
    return {section["section"]: section for section in sections if section["section"] != "view"}


def kept_files(home):
    """Return the files that are kept against a crash, one for each window."""
    return list(home.rglob("recovery/*.haloscope"))


def kept(home):
    """Return what is kept against a crash."""
    return b"".join(path.read_bytes() for path in kept_files(home))


@pytest.fixture(scope="session")
def screen(tmp_path_factory):
    """An X server for all tests."""
    with Screen(tmp_path_factory.mktemp("screen")) as screen:
        yield screen


def check(program: Journey) -> None:
    """Nothing may be wrong with a program."""
    assert program.complaints() == [], program.report()
    if not program.has_ended:
        program.wait_for_rest()
        assert not program.shows_an_error, program.report()


def end(program: Journey) -> None:
    """Quit a program that still runs; nothing may be wrong then either."""
    try:
        check(program)
        if not program.has_ended:
            assert program.quit() == 0, program.report()
            assert program.complaints() == [], program.report()
    finally:
        program.kill()


@pytest.fixture
def start(screen, tmp_path):
    """Return a function that starts the program, for what happens at a start or at an end."""
    started = []

    def start(*arguments: object, home: Path = tmp_path / "home") -> Journey:
        started.append(Journey(screen, home, *map(str, arguments)))
        return started[-1]

    yield start
    for program in started:
        end(program)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The home of the program, whose dialogs come quickly to what is in it."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def small(home):
    """A picture of 32 x 32, which the simulator takes."""
    path = home / "small.png"
    Image.radial_gradient("L").resize((32, 32)).save(path)
    return path


@pytest.fixture(scope="session")
def running(screen, home, small):
    """The program: a start takes longer than most tests."""
    program = Journey(screen, home, str(small))
    yield program
    end(program)


@pytest.fixture
def program(running):
    """The program on the page Explore, as the test before has left it; nothing may be wrong."""
    running.press("alt+1")
    running.wait_for_rest()
    yield running
    check(running)


@pytest.fixture(scope="module")
def begin(running):
    """Return a function that begins a file of tests: a picture, the first mask and the first layout."""

    def begin(picture: Path) -> None:
        running.press("alt+1")
        running.wait_for_rest()
        running.open(picture)
        running.write_mask("0 -1 0; -1 5 -1; 0 -1 0")
        running.press("ctrl+shift+l")
        running.wait_for_rest()

    return begin
