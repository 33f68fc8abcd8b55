"""The sentence of the panel Why as rich text."""

import pytest

from gui.explore.why.why_words import sentence_html
from gui.style.theme import LIGHT

LINK = f"<a href='tiled' style='color: {LIGHT.accent}'>"


@pytest.mark.parametrize(
    ("sentence", "remedy", "title", "html"),
    [
        ("Slow. `tiled` is not.", "tiled", "Tiled", f"Slow. {LINK}tiled</a> is not."),
        ("Slow & so.", "tiled", "Tiled", f"Slow &amp; so. {LINK}Choose Tiled</a>"),
        ("Slow. `tiled` is not.", "tiled", "", "Slow. <code>tiled</code> is not."),
        ("See `devices --measure`.", "", "", "See <code>devices --measure</code>."),
    ],
    ids=["in the sentence", "after it", "unknown here", "other code"],
)
def test_that_the_remedy_is_a_link(sentence, remedy, title, html):
    assert sentence_html(sentence, remedy, title, LIGHT) == html
