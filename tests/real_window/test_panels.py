"""Panels that are dragged out of the window, and where the window itself is at the next start."""

import pytest

from gui.style.theme import DARK, LIGHT

pytestmark = pytest.mark.slow

NETWORK, EXPLORE = "alt+4", "alt+1"
TITLE_OF_DRAWING, MIDDLE = (160, 66), (640, 380)


def geometry_of(screen, window):
    """Return left, top, width, height of a window without its frame."""
    words = screen.xdotool("getwindowgeometry", "--shell", window).split()
    found = dict(word.split("=") for word in words)
    return tuple(int(found[name]) for name in ("X", "Y", "WIDTH", "HEIGHT"))


def floating(screen, title):
    """Return the window of a floated panel, empty where there is none."""
    return screen.xdotool("search", "--onlyvisible", "--name", f"^{title}$").partition("\n")[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_that_a_panel_dropped_over_the_window_has_a_frame_and_goes_and_comes_with_its_page(start, theme):
    program = start("--theme", theme)
    screen = program.screen
    program.press(NETWORK)
    program.wait_for_rest()
    program.drag(TITLE_OF_DRAWING, MIDDLE)
    panel = program.wait_until(lambda: floating(screen, "Drawing"), "a window of the panel's own")
    program.wait_for_rest()
    left, top, width, height = geometry_of(screen, panel)
    right, bottom = left + width - 1, min(top + height, screen.height) - 1
    rgb = tuple(bytes.fromhex({"light": LIGHT, "dark": DARK}[theme].outline[1:]))
    pixels = screen.pixels()
    for edge in (
        pixels[top : bottom + 1, left],
        pixels[top : bottom + 1, right],
        pixels[top, left : right + 1],
    ):
        assert (edge == rgb).all()
    program.press(EXPLORE)
    program.wait_until(lambda: not floating(screen, "Drawing"), "the page Explore without it")
    program.wait_for_rest()
    program.press(NETWORK)
    program.wait_until(lambda: floating(screen, "Drawing"), "the panel with its page")
    program.wait_for_rest()
    assert geometry_of(screen, floating(screen, "Drawing")) == (left, top, width, height)


def test_that_the_window_opens_again_where_it_was_left(program, start):
    screen = program.screen
    first = geometry_of(screen, program.window)
    assert program.quit() == 0
    program = start()
    assert geometry_of(screen, program.window) == first
    screen.xdotool("windowsize", "--sync", program.window, 1100, 680)
    screen.xdotool("windowmove", "--sync", program.window, 60, 50)
    program.wait_for_rest()
    moved = geometry_of(screen, program.window)
    assert moved != first
    assert program.quit() == 0
    assert geometry_of(screen, start().window) == moved
