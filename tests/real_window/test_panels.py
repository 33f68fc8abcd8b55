"""Panels that are opened as windows of their own."""

import pytest

from tests.real_window.conftest import geometry_of

pytestmark = pytest.mark.slow

NETWORK, EXPLORE = "alt+4", "alt+1"
TAB_OF_DRAWING = (110, 66)


def own_window(screen, title):
    """Return the window of a panel, empty where it has none."""
    return screen.xdotool("search", "--onlyvisible", "--name", f"^{title}$").partition("\n")[0]


@pytest.fixture(scope="module")
def arguments():
    return "--theme", "light"


@pytest.fixture
def panel(program):
    """The panel Drawing of the page Network: a window of its own."""
    program.press(NETWORK)
    program.wait_for_rest()
    if not own_window(program.screen, "Drawing"):
        program.click(*TAB_OF_DRAWING, times=2)
    found = program.wait_until(lambda: own_window(program.screen, "Drawing"), "a window of the panel's own")
    program.wait_for_rest()
    return found


def test_that_a_panel_in_its_own_window_stays_with_its_page_until_the_default_layout(program, panel):
    screen = program.screen
    before = geometry_of(screen, panel)
    program.press(EXPLORE)
    program.wait_until(lambda: not own_window(screen, "Drawing"), "the page Explore without it")
    program.wait_for_rest()
    program.press(NETWORK)
    program.wait_until(lambda: own_window(screen, "Drawing"), "the panel with its page")
    program.wait_for_rest()
    again = own_window(screen, "Drawing")
    assert geometry_of(screen, again) == before
    screen.xdotool("windowactivate", "--sync", program.window)
    program.press("ctrl+shift+l")
    program.wait_until(lambda: not own_window(screen, "Drawing"), "the panel behind its tab")
    program.wait_for_rest()
