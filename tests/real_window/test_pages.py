"""Pages, theme and panels, and what of them the next start brings back."""

import json

import numpy as np
import pytest

from gui.shell.pages import PAGES
from tests.real_window.conftest import PLACES, geometry_of

pytestmark = pytest.mark.slow

KEYS = [f"alt+{number}" for number, _ in enumerate(PAGES, start=1)]


def preferences_of(program):
    (path,) = program.home.rglob("preferences.json")
    return json.loads(path.read_text(encoding="utf-8"))


def brightness(program):
    return float(program.screen.pixels().mean())


def kernels_in_sight(program):
    x, y = PLACES["kernels"]
    return program.screen.pixels()[y : y + 200, x : x + 250]


def test_that_every_page_is_shown_by_its_key(program):
    shown = []
    for key in KEYS:
        program.press(key)
        program.wait_for_rest()
        shown.append(program.screen.pixels())
    assert not any(np.array_equal(a, b) for at, a in enumerate(shown) for b in shown[:at])


def test_that_a_drawn_stroke_is_in_the_session_until_it_is_undone(program, tmp_path):
    program.press(KEYS[3])
    program.wait_for_rest()
    before = program.session(tmp_path / "before.json")
    (x, y) = PLACES["drawing"]
    program.drag((x, y), (x + 60, y + 60))
    program.wait_for_rest()
    assert program.session(tmp_path / "drawn.json") != before
    program.press("ctrl+z")
    assert program.session(tmp_path / "undone.json") == before


def test_that_the_next_start_looks_as_the_last_end(start, screen):
    program = start()
    light, first = brightness(program), geometry_of(screen, program.window)
    program.menu("alt+v", "t", "Down", "Return")
    program.wait_for_rest()
    assert brightness(program) < light / 2
    for key in KEYS:
        program.press(key)
        program.wait_for_rest()
    screen.xdotool("windowsize", "--sync", program.window, 1100, 680)
    screen.xdotool("windowmove", "--sync", program.window, 60, 50)
    program.wait_for_rest()
    moved = geometry_of(screen, program.window)
    assert moved != first
    assert program.quit() == 0
    kept = preferences_of(program)
    assert (kept["theme"], kept["layouts"].keys()) == ("dark", {page.key for page in PAGES})
    again = start()
    assert brightness(again) < light / 2
    assert geometry_of(screen, again.window) == moved


def test_that_a_closed_panel_is_brought_back_by_the_menu(program):
    before = kernels_in_sight(program)
    program.click_on("close Kernel")
    program.wait_for_rest()
    assert not np.array_equal(kernels_in_sight(program), before)
    program.menu("alt+v", "p", "Down", "Return")
    assert np.array_equal(kernels_in_sight(program), before)
