"""Panels that are dragged out of the window."""

import pytest

from gui.style.theme import DARK, LIGHT
from tests.real_window.conftest import geometry_of

pytestmark = pytest.mark.slow

NETWORK, EXPLORE = "alt+4", "alt+1"
TITLE_OF_DRAWING, MIDDLE = (160, 66), (640, 380)
TAB_OF_TILE = (152, 66)


def floating(screen, title):
    """Return the window of a floated panel, empty where there is none."""
    return screen.xdotool("search", "--onlyvisible", "--name", f"^{title}$").partition("\n")[0]


@pytest.fixture(scope="module")
def arguments():
    return "--theme", "light"


@pytest.fixture
def panel(program):
    """The panel Drawing, dragged out of the page Network: a window of its own."""
    program.press(NETWORK)
    program.wait_for_rest()
    if not floating(program.screen, "Drawing"):
        program.drag(TITLE_OF_DRAWING, MIDDLE)
    found = program.wait_until(lambda: floating(program.screen, "Drawing"), "a window of the panel's own")
    program.wait_for_rest()
    return found


def edges_of(screen, panel):
    """Return the colours of the left, right and upper edge of a window."""
    left, top, width, height = geometry_of(screen, panel)
    right, bottom = left + width, min(top + height, screen.height)
    pixels = screen.pixels()
    edges = pixels[top:bottom, left], pixels[top:bottom, right - 1], pixels[top, left:right]
    return {tuple(map(int, colour)) for edge in edges for colour in edge}


def test_that_a_panel_dropped_over_the_window_has_a_frame_in_each_theme(program, panel):
    for theme in (LIGHT, DARK):
        if theme is DARK:
            program.screen.xdotool("windowactivate", "--sync", program.window)
            program.menu("alt+v", "t", "Down", "Return")
            program.wait_for_rest()
            program.screen.xdotool("windowraise", panel)
            program.wait_for_rest()
        assert edges_of(program.screen, panel) == {tuple(bytes.fromhex(theme.outline[1:]))}


def test_that_a_tab_dragged_out_of_its_row_is_a_window_and_goes_back_by_its_title(program):
    screen = program.screen
    program.drag(TAB_OF_TILE, MIDDLE)
    tile = program.wait_until(lambda: floating(screen, "Tile"), "a window of the panel's own")
    program.wait_for_rest()
    screen.drag((tile, 20, 10), (program.window, *TAB_OF_TILE))
    program.wait_until(lambda: not floating(screen, "Tile"), "the panel in its place")


def test_that_a_floating_panel_stays_with_its_page(program, panel):
    screen = program.screen
    before = geometry_of(screen, panel)
    program.press(EXPLORE)
    program.wait_until(lambda: not floating(screen, "Drawing"), "the page Explore without it")
    program.wait_for_rest()
    program.press(NETWORK)
    program.wait_until(lambda: floating(screen, "Drawing"), "the panel with its page")
    program.wait_for_rest()
    assert geometry_of(screen, floating(screen, "Drawing")) == before
