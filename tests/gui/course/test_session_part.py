"""Measured tables of the course are work: they are in sessions, and closing asks about them."""

import json
from dataclasses import replace

import pytest

from engine.course.messages import MeasuredPaper
from engine.course.papers import PAPERS
from engine.course.tables import counted_tables
from engine.errors import BadValue
from gui.course.course_model import CourseModel, part_of, show_part
from tests.gui.made_results import made_tables
from tests.gui.made_window import shown_page
from tests.made_runs import make_result

PAPER = PAPERS[0].key


@pytest.fixture
def measured(haloscope, qtbot):
    """The window with the page Course and a measured paper."""
    page = shown_page(haloscope.window, "course", qtbot)
    page.run()
    qtbot.waitUntil(lambda: page.course.known(PAPER).is_measured)
    return haloscope, page


def saved(haloscope, path, qtbot):
    haloscope.window.first_page.files.save_session(path)
    qtbot.waitUntil(lambda: path.exists() and not haloscope.window.unsaved)
    return path


def test_that_closing_asks_about_measured_tables_until_they_are_in_a_session(measured, qtbot, tmp_path):
    haloscope, page = measured
    assert haloscope.window.unsaved == "1 result"
    saved(haloscope, tmp_path / "work.haloscope", qtbot)
    page.run()
    qtbot.waitUntil(lambda: haloscope.window.unsaved == "1 result")


@pytest.mark.parametrize("is_shown_before", [False, True])
def test_that_measured_tables_come_back_with_a_session(
    measured, qtbot, tmp_path, open_window, is_shown_before
):
    haloscope, page = measured
    page.course.choose(PAPERS[1].key)
    path = saved(haloscope, tmp_path / "work.haloscope", qtbot)
    other = open_window()
    if is_shown_before:
        shown_page(other.window, "course", qtbot)
    other.window.first_page.files.open_session(path)
    qtbot.waitUntil(lambda: "course" in other.window.session_parts())
    brought = shown_page(other.window, "course", qtbot).course
    qtbot.waitUntil(lambda: brought.paper is not None and brought.paper.key == PAPERS[1].key)
    assert not other.window.unsaved
    brought.choose(PAPER)
    qtbot.waitUntil(lambda: brought.known(PAPER).is_measured)
    assert brought.tables(PAPER) == made_tables(measured=True)


def test_that_every_table_of_a_paper_is_the_same_after_a_session():
    for paper in [paper.key for paper in PAPERS]:
        counted = counted_tables(paper)
        figures = [replace(table, notes=(*table.notes, "Measured.")) for table in counted]
        course, other = CourseModel(), CourseModel()
        course.set_measured(paper, MeasuredPaper(tuple(figures), (make_result("naive"),)))
        part = json.loads(json.dumps(part_of(course), allow_nan=False))
        show_part(other, part)
        assert not other.known(paper).tables, "they are shown once they are counted"
        other.set_counted(paper, counted)
        assert other.known(paper) == course.known(paper)


def test_that_nothing_is_kept_of_a_page_where_nothing_was_measured():
    course = CourseModel()
    course.choose(PAPER)
    course.set_counted(PAPER, made_tables(measured=False))
    assert part_of(course) == {}


def test_that_of_damaged_tables_the_others_are_shown_and_the_damage_is_said():
    for damage, words in [
        (lambda measured: measured.pop("tables"), "tables"),
        (lambda measured: measured.update(tables=[{"title": 3}]), "paper"),
        (lambda measured: measured["tables"][0]["rows"][0].pop(), "another length than its headings"),
        (lambda measured: measured.update(results=[{"task": "none"}]), "paper"),
        (lambda measured: measured.update(results=7), "paper"),
    ]:
        course, other = CourseModel(), CourseModel()
        for paper in PAPERS[:2]:
            course.set_measured(paper.key, MeasuredPaper(made_tables(measured=True), (make_result("naive"),)))
        part = json.loads(json.dumps(part_of(course)))
        damage(part["measured"][PAPER])
        part["measured"]["thesis"] = part["measured"][PAPERS[1].key]
        part["brightness"] = 3
        with pytest.raises(BadValue, match=words) as caught:
            show_part(other, part)
        assert set(other.measured) == {PAPERS[1].key}
        for said in (f"paper {PAPER} was left out", "paper thesis was left out", '"brightness" is not known'):
            assert said in str(caught.value)
