"""The teaching order as a story of diffs, and its slides."""

import re
from html.parser import HTMLParser

import pytest

from engine.explain.code.teaching_story import compared_with, slides, teaching_story
from engine.explain.examples import variant_named
from engine.work.filtering.variants import VARIANTS
from tests.made_runs import make_result

RUNS = [make_result("naive", 2.0), make_result("tiled", 0.5)]


@pytest.fixture(scope="module")
def chapters():
    return teaching_story(RUNS)


@pytest.fixture(scope="module")
def steps(chapters):
    return {step.key: step for chapter in chapters for step in chapter.steps}


class Outline(HTMLParser):
    """What a page refers to, and whether its elements are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.anchors, self.links = [], set(), set()

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        self.anchors |= {value for name, value in attrs if name == "id"}
        self.links |= {value for name, value in attrs if name in ("href", "src")}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_that_a_kernel_is_compared_with_the_one_that_its_module_names():
    for key, before in [
        ("tiled", "naive"),
        ("constant", "naive"),
        ("cached", "tiled"),
        ("cached-constant", "cached"),
        ("separable-l2", "separable-l1"),
        ("register-blocked", "tiled"),
        ("separable-fused", "register-blocked"),
        ("row-naive", "naive"),
        ("naive", None),
        ("digit-sums", None),
    ]:
        found = compared_with(variant_named(key), [one for one in VARIANTS if one.has_kernels])
        assert (found and found.key) == before


@pytest.mark.slow
def test_that_the_steps_are_in_teaching_order(chapters):
    assert [step.key for step in chapters[0].steps] == [one.key for one in VARIANTS if one.has_kernels]


def test_that_a_step_has_its_idea_its_lines_and_what_it_saved(steps):
    tiled = steps["tiled"]
    assert "shared memory" in tiled.idea
    assert tiled.saves.startswith("Against `naive`")
    assert (tiled.diff.left, tiled.diff.right) == ("naive", "tiled")
    assert tiled.measured.saved == 0.75


def test_that_variants_of_one_kernel_are_compared_with_the_first(steps):
    assert steps["low-rank-3"].before == "separable-fused"
    assert steps["low-rank-3"].diff.removed == 0


def test_that_slides_need_nothing_from_elsewhere(chapters):
    page = slides(chapters)
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert all(link.startswith("#") for link in outline.links)
    assert {link[1:] for link in outline.links} <= outline.anchors
    assert not re.search(r"<script|<link|@import|url\(", page)


def test_that_a_slide_shows_what_was_saved(chapters):
    page = slides(chapters, "Measured here & now.")
    slide = page.partition('<section id="tiled">')[2].partition("</section>")[0]
    assert "0.500 ms instead of 2.00 ms, 75 % less than naive" in slide
    assert '<span class="added">+' in slide
    assert "Measured here &amp; now." in page
