"""Pages and panels, and what runs on them."""

import numpy as np
import pytest

from gui.shell.pages import PAGES
from tests.real_window.conftest import PLACES, geometry_of

pytestmark = pytest.mark.slow

TAB_OF_DRAWING, BATCH = (110, 66), (424, 552)
KEYS = [f"alt+{number}" for number, _ in enumerate(PAGES, start=1)]


@pytest.fixture(scope="module", autouse=True)
def _begin(begin, small):
    """A small picture."""
    begin(small)


def kernels_area():
    x, y = PLACES["kernels"]
    return slice(y, y + 180), slice(x, x + 250)


def kernels_in_sight(program):
    return program.screen.pixels()[kernels_area()]


def test_that_every_page_is_shown_by_its_key(program):
    shown = []
    for key in KEYS:
        program.press(key)
        program.wait_for_rest()
        shown.append(program.screen.pixels())
    assert not any(np.array_equal(a, b) for at, a in enumerate(shown) for b in shown[:at])


def test_that_a_drawn_stroke_is_in_the_session_until_it_is_undone(program):
    program.press(KEYS[3])
    program.wait_for_rest()
    before = program.session()
    (x, y) = PLACES["drawing"]
    program.drag((x, y), (x + 60, y + 60))
    program.wait_for_rest()
    assert program.session() != before
    program.press("ctrl+z")
    assert program.session() == before


def test_that_a_look_at_a_tab_and_the_default_layout_move_nothing(program):
    program.screen.xdotool("mousemove", 0, 0)
    program.press("ctrl+shift+l")
    program.wait_for_rest()
    before = program.screen.pixels()
    for name in ("tile", "mask"):
        program.command(f"panel {name}")
    assert np.array_equal(kernels_in_sight(program), before[kernels_area()])
    program.press("ctrl+shift+l")
    program.wait_for_rest()
    assert np.array_equal(program.screen.pixels()[kernels_area()], before[kernels_area()])


@pytest.mark.parametrize("page", [3, 4], ids=["Matrices", "Network"])
def test_that_a_page_runs_and_saves_its_rows(program, page):
    program.press(f"alt+{page}")
    program.wait_for_rest()
    if page == 4:
        # Every layer of 100 drawings is measured for 7 s.
        program.click(*BATCH, times=2)
        program.type("2\t")
        program.wait_for_rest()
    program.press("ctrl+r")
    program.wait_for_rest()
    rows = program.rows()
    assert any(row["status"].startswith("verified") for row in rows)


def test_that_a_measurement_of_a_paper_stops_with_escape(program):
    program.press("alt+2")
    program.wait_for_rest()
    program.press("ctrl+r")
    program.wait_until(lambda: not program.is_idle, "the measurement")
    program.press("Escape")
    program.wait_for_rest()


def test_that_f12_hides_the_panels_and_brings_them_back(program):
    program.screen.xdotool("mousemove", 0, 0)
    program.wait_for_rest()
    before = program.screen.pixels()
    program.press("F12")
    program.wait_for_rest()
    assert not np.array_equal(program.screen.pixels(), before)
    program.press("F12")
    program.wait_for_rest()
    assert np.array_equal(program.screen.pixels()[kernels_area()], before[kernels_area()])


def own_window(screen, title):
    """Return the window of a panel, empty where it has none."""
    return screen.xdotool("search", "--onlyvisible", "--name", f"^{title}$").partition("\n")[0]


@pytest.fixture
def panel(program):
    """The panel Drawing of the page Network: a window of its own."""
    program.press(KEYS[3])
    program.wait_for_rest()
    if not own_window(program.screen, "Drawing"):
        program.click(*TAB_OF_DRAWING, times=2)
    found = program.wait_until(lambda: own_window(program.screen, "Drawing"), "a window of the panel's own")
    program.wait_for_rest()
    return found


def test_that_a_panel_in_its_own_window_stays_with_its_page_until_the_default_layout(program, panel):
    screen = program.screen
    before = geometry_of(screen, panel)
    program.press(KEYS[0])
    program.wait_until(lambda: not own_window(screen, "Drawing"), "the page Explore without it")
    program.wait_for_rest()
    program.press(KEYS[3])
    program.wait_until(lambda: own_window(screen, "Drawing"), "the panel with its page")
    program.wait_for_rest()
    again = own_window(screen, "Drawing")
    assert geometry_of(screen, again) == before
    screen.xdotool("windowactivate", "--sync", program.window)
    program.press("ctrl+shift+l")
    program.wait_until(lambda: not own_window(screen, "Drawing"), "the panel behind its tab")
    program.wait_for_rest()
