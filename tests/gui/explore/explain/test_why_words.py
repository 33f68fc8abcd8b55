"""The sentence of the panel Why as rich text."""

from dataclasses import replace

from engine.results.launch_facts import LaunchFacts
from gui.explore.explain.why_panel import numbers_of, sentence_html
from gui.style.theme import LIGHT
from tests.gui.made_explained import LAUNCH

LINK = f"<a href='tiled' style='color: {LIGHT.accent}'>"


def test_that_the_remedy_is_a_link():
    for sentence, remedy, title, html in [
        ("Slow. `tiled` is not.", "tiled", "Tiled", f"Slow. {LINK}tiled</a> is not."),
        ("Slow & so.", "tiled", "Tiled", f"Slow &amp; so. {LINK}Choose Tiled</a>"),
        ("Slow. `tiled` is not.", "tiled", "", "Slow. <b>tiled</b> is not."),
        ("See `devices --measure`.", "", "", "See <b>devices --measure</b>."),
    ]:
        assert sentence_html(sentence, remedy, title, LIGHT) == html


def test_that_numbers_that_are_not_known_are_left_out():
    launch = LaunchFacts((2, 8, 1), (32, 8, 1))
    assert [number.name for number in numbers_of([launch], None)] == ["Launch"]


def test_that_several_launches_have_their_numbers_side_by_side():
    launches = [replace(LAUNCH, registers=registers) for registers in (40, 32)]
    shown = {number.name: number.text for number in numbers_of(launches, None)}
    assert (shown["Registers"], shown["Waves"]) == ("40 per thread · 32 per thread", "20.7")
