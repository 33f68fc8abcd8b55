"""The page Course in the whole window."""

import pytest
from PySide6.QtWidgets import QMenu

from engine.course.papers import PAPERS, MeasuredPaper
from engine.course.tables import counted_tables
from engine.geometry.border import Border
from engine.mask.presets import resolve_mask
from gui.widgets.labels import ElidedLabel
from tests.gui.made_results import made_tables
from tests.gui.made_window import save_session, shown_page

FIRST = PAPERS[0].key


@pytest.fixture
def opened(haloscope, qtbot):
    """The window with the page Course in front, and the page; nothing is measured yet."""
    page = shown_page(haloscope.window, "course", qtbot)
    page.course.choose(FIRST)
    page.courses.count()
    qtbot.waitUntil(lambda: page.tables.shown is not None)
    return haloscope, page


def test_that_the_page_is_built_when_it_is_first_shown(open_window, qtbot):
    haloscope = open_window()
    assert list(haloscope.window._entered) == ["explore"]
    haloscope.actions["page:course"].trigger()
    qtbot.waitUntil(lambda: "course" in haloscope.window._entered)
    page = haloscope.window._entered["course"]
    qtbot.waitUntil(page.isVisible)
    assert haloscope.actions["page:course"].isChecked()
    assert page.header.findChild(ElidedLabel).text() == PAPERS[0].title
    qtbot.waitUntil(lambda: page.tables.shown is not None)
    assert page.tables.table.cells.rowCount() > 0
    panels = next(menu for menu in haloscope.window.findChildren(QMenu) if menu.title() == "&Panels")
    assert [action.text() for action in panels.actions()] == ["Papers", "Tables", "Code"]


def test_that_measuring_fills_the_table_that_is_shown_and_the_page_says_what_it_fills(opened, qtbot):
    haloscope, page = opened
    assert not haloscope.actions["run_all"].isEnabled()
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: FIRST in page.course.measured)
    assert page.isVisible()
    assert page.tables.table.cells.index(0, 3).data() == "12.1"
    assert haloscope.results.rowCount() == 0
    haloscope.link._client.automatic = False
    haloscope.actions["run"].trigger()
    assert haloscope.state.running
    haloscope.actions["cancel"].trigger()
    qtbot.waitUntil(lambda: not haloscope.state.running)
    page.course.choose("convolution")
    page.course.know("convolution", counted=counted_tables("convolution"))
    assert "fills 1 of the 7 tables" in page.status.sentence
    page.course.know("convolution", measured=MeasuredPaper(counted_tables("convolution")))
    assert "empty cells say why" in page.status.sentence


def test_that_the_page_answers_each_click_of_its_panels(opened, qtbot, monkeypatch, tmp_path):
    haloscope, page = opened
    saved = []
    monkeypatch.setattr(page.courses, "save", lambda *given: saved.append(given))
    monkeypatch.setattr(page._services.files, "ask_for_folder", lambda title, then: then(tmp_path))
    haloscope.actions["copy_results"].trigger()
    assert haloscope.window.message_bar.text == f"{len(page.tables.shown.rows)} rows copied."
    haloscope.actions["save_results"].trigger()
    assert saved == [(FIRST, tmp_path)]
    page.kernels.selectRow(1)
    page.kernels.code_button.click()
    qtbot.waitUntil(lambda: page.code.shown is not None)
    qtbot.waitUntil(page.code.isVisible)
    assert not page.tables.isVisible()
    row = next(row for row, kernel in enumerate(PAPERS[0].kernels) if kernel.variant == "naive")
    here = PAPERS[0].kernels[row]
    page.kernels.selectRow(row)
    page.kernels.load_button.click()
    settings = haloscope.workspace.settings
    assert (settings.variant, settings.block, settings.border) == ("naive", here.block, Border(here.border))
    assert haloscope.workspace.mask == resolve_mask(here.mask)
    assert haloscope.window.first_page.isVisible()
    assert not page.isVisible()


def test_that_measured_tables_are_asked_about_until_a_session_has_them(opened, qtbot, tmp_path, open_window):
    haloscope, page = opened
    page.run()
    qtbot.waitUntil(lambda: FIRST in page.course.measured and not haloscope.state.running)
    assert haloscope.window.unsaved == "1 result"
    save_session(haloscope, tmp_path / "before.haloscope", qtbot)
    page.run()
    qtbot.waitUntil(lambda: haloscope.window.unsaved == "1 result")
    page.course.choose(PAPERS[1].key)
    path = save_session(haloscope, tmp_path / "work.haloscope", qtbot)
    haloscope.reset(qtbot)

    def bring(other):
        other.window.first_page.files.open_session(path)
        qtbot.waitUntil(lambda: "course" in other.window.session_parts())
        brought = shown_page(other.window, "course", qtbot).course
        qtbot.waitUntil(lambda: brought.paper is not None and brought.paper.key == PAPERS[1].key)
        assert not other.window.unsaved
        brought.choose(FIRST)
        qtbot.waitUntil(lambda: bool(brought.tables(FIRST)))
        assert brought.tables(FIRST) == made_tables(measured=True)

    # In a window that has shown the page, and in one that has not.
    bring(haloscope)
    bring(open_window())
