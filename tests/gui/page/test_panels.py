"""Panels behind tabs and as windows, areas with shares, the order of Tab."""

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QLineEdit, QWidget

from engine.errors import UnknownName
from gui.page.contract import Page, PageLayout
from gui.page.panels import Panel, PanelTabs, Share, Shares, focus_next
from gui.page.slot import Slot
from gui.style.metrics import set_letter_size
from gui.widgets.panel_parts import column
from tests.gui.made_window import settle

HORIZONTAL = Qt.Orientation.Horizontal


@pytest.fixture
def made(qtbot):
    """A page: the panels A and B behind tabs beside a middle, C with the parts D and E right of it."""
    page, middle = Page(), QWidget()
    left = PanelTabs(*(Panel(name, name.upper(), QLineEdit(name)) for name in "ab"))
    parts = PanelTabs(*(Panel(name, name.upper(), QLineEdit(name)) for name in "de"), are_parts=True)
    right = PanelTabs(Panel("c", "C", parts))
    shares = Share(left, 0.2, 200), Share(middle, 0.6), Share(right, 0.2)
    page.fill(Shares("page", HORIZONTAL, *shares), middle, left, right)
    qtbot.addWidget(page)
    page.resize(1000, 400)
    with qtbot.waitExposed(page):
        page.show()
    return page


def widths(page):
    return [page.panel("a").tabs.width(), page.message_area.width(), page.panel("c").tabs.width()]


def seen(page):
    return "".join(panel.objectName() for panel in page.panels if panel.isVisible())


def test_that_a_panel_and_the_one_around_it_come_to_the_front(made):
    assert [panel.objectName() for panel in made.panels] == list("abcde")
    assert seen(made) == "acd"
    made.bring_to_front("e")
    made.bring_to_front("b")
    assert seen(made) == "bce"
    with pytest.raises(UnknownName, match="It has a, b, c, d, e"):
        made.bring_to_front("f")


def test_that_a_panel_is_a_window_and_back_in_its_place_when_it_is_closed(made):
    panel = made.panel("a")
    panel.open_as_window()
    settle()
    assert panel.isWindow()
    assert seen(made) == "abcd"
    assert [panel.tabs.bar.tabText(at) for at in range(panel.tabs.bar.count())] == ["B"]
    panel.close()
    settle()
    assert seen(made) == "acd"
    assert [panel.tabs.bar.tabText(at) for at in range(panel.tabs.bar.count())] == ["A", "B"]
    # Windows of a page come and go with it.
    panel.open_as_window(QRect(30, 40, 300, 200))
    for is_shown in (False, True):
        made.setVisible(is_shown)
        settle()
        assert panel.isVisible() == is_shown
    assert panel.geometry() == QRect(30, 40, 300, 200)
    panel.close()
    settle()
    # A place whose panels are all windows leaves its room to others.
    before = widths(made)
    made.panel("c").open_as_window()
    settle()
    assert not made.panel("c").tabs.isVisible()
    assert widths(made)[1] > before[1]
    made.panel("c").put_back()
    settle()
    assert widths(made) == before


def test_that_areas_keep_their_shares_and_what_they_need_at_first_more_with_larger_letters(made, qapp, qtbot):
    assert widths(made) == pytest.approx([200, 600, 200], abs=3)
    made.resize(2000, 400)
    assert widths(made) == pytest.approx([400, 1200, 400], abs=3)
    made.resize(800, 400)
    assert widths(made) == pytest.approx([200, 440, 160], abs=3)
    made.resize(1000, 400)
    try:
        set_letter_size(qapp, 150)
        qtbot.waitUntil(lambda: widths(made)[0] == pytest.approx(300, abs=3))
    finally:
        set_letter_size(qapp, 100)


def test_that_an_area_keeps_the_share_that_a_person_gave_it_and_leaves_out_what_it_has_not(made):
    before = widths(made)
    made.take_layout(PageLayout({"page": (0.5, 0.5), "gone": (1.0,)}, ("gone",), {"gone": (0, 0, 9, 9)}))
    assert widths(made) == before
    assert seen(made) == "acd"
    shares = made.findChild(Shares)
    shares.moveSplitter(300, 1)
    made.resize(2000, 400)
    assert widths(made)[0] == pytest.approx(600, abs=5)
    kept = made.give_layout()
    made.restore_default()
    assert widths(made)[0] == pytest.approx(400, abs=3)
    made.take_layout(kept)
    assert widths(made)[0] == pytest.approx(600, abs=5)


def test_that_tab_comes_to_what_is_made_later_where_it_stands(qtbot):
    window, first, slot, last = QWidget(), QLineEdit(), Slot(QLineEdit), QLineEdit()
    qtbot.addWidget(window)
    window.setLayout(column(first, slot, last))
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: slot.is_complete)
    window.activateWindow()
    first.setFocus()
    for expected in (slot.widget, last, first):
        assert focus_next(window, is_forward=True)
        assert window.focusWidget() is expected
    focus_next(window, is_forward=False)
    assert window.focusWidget() is last


def test_that_an_area_without_a_share_has_the_room_where_it_is_alone(show_widget):
    for first_share, dragged_to in ((0.0, None), (0.5, [0, 400])):
        areas = QWidget(), QWidget()
        parts = Share(areas[0], first_share), Share(areas[1], 0.5)
        shares = show_widget(Shares("two", HORIZONTAL, *parts), 400, 100)
        if dragged_to:
            shares.setSizes(dragged_to)
            shares.splitterMoved.emit(0, 1)
        shares.show_only(areas[0], is_alone=True)
        shares.fit()
        assert shares.sizes()[0] > 350
        assert shares.sizes()[1] == 0
