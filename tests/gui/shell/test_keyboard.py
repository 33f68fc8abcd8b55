"""By hand: what the mouse can do the keyboard can, Tab and wheel over every page; who owns a widget."""

import re

import pytest
import shiboken6
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QMenu,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QWidget,
)

from gui.shell.dialogs import commands_of
from gui.shell.pages import PAGES
from tests.gui.made_window import all_actions, shown_page


@pytest.fixture(scope="module")
def haloscope(window_of_file):
    return window_of_file


@pytest.fixture
def show(haloscope, qtbot):
    """Return a function that shows a page with something in all of its panels."""

    def do(key):
        window = haloscope.window
        window.show_page(key)
        qtbot.waitUntil(lambda: window.is_complete)
        if key != "course":
            name = "run_all" if window.page.status.run_all_does else "run"
            qtbot.waitUntil(haloscope.actions[name].isEnabled)
            haloscope.actions[name].trigger()
            qtbot.waitUntil(lambda: not haloscope.state.running)
            qtbot.waitUntil(lambda: window.is_complete)
        window.activateWindow()
        QApplication.processEvents()
        return window.page

    return do


def stops(root):
    """Return the widgets that Tab has to come to; of buttons that exclude one another one is enough."""
    window, found, groups = root.window(), [], set()
    for widget in root.findChildren(QWidget):
        is_part = isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox)
        takes = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        if not takes or is_part or widget.window() is not window:
            continue
        if not (widget.isVisible() and widget.isEnabled()) or widget.visibleRegion().isEmpty():
            continue
        if isinstance(widget, QScrollArea | QScrollBar | QMenu) or widget.focusProxy() is not None:
            continue
        if isinstance(widget, QAbstractButton) and widget.group() and widget.group().exclusive():
            if widget.group() in groups:
                continue
            groups.add(widget.group())
        found.append(widget)
    return found


def walk(qtbot, window, key=Qt.Key.Key_Tab):
    """Press Tab until the focus is where it began; return all that had it."""
    first = window.focusWidget()
    visited, most = [first], 600
    for _ in range(most):
        qtbot.keyClick(window.focusWidget(), key)
        now = window.focusWidget()
        if now is first and len(visited) > 1:
            return visited
        if now is not visited[-1]:
            visited.append(now)
    circle = [described(one) for one in visited[-60:]]
    raise AssertionError(f"a trap: {described(first)} has the focus no more, {circle} have")


def described(widget):
    name = widget.accessibleName() or getattr(widget, "text", str)() or widget.objectName()
    return f"{type(widget).__name__} {name!r} in {type(widget.parentWidget()).__name__}"


def has(visited, widget):
    if widget in visited:
        return True
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    return group is not None and any(button in visited for button in group.buttons())


@pytest.mark.parametrize("key", [entry.key for entry in PAGES])
def test_that_each_entry_has_a_key_and_tab_comes_to_each_control_once(haloscope, show, qtbot, key):
    page, window = show(key), haloscope.window
    offered = {command.title.removesuffix(" (on)") for command in commands_of(haloscope.actions, page)}
    without = []
    for top in window.menuBar().actions():
        top.menu().aboutToShow.emit()
        for action in (one for one in all_actions(top.menu()) if not one.isSeparator()):
            title = action.text().replace("&", "").rstrip("…")
            # The list of recent files is reached by the letters of its menu.
            is_recent = action.parent() is window.recent.menu or action in window.recent.menu.actions()
            if not (action.shortcuts() or title in offered or is_recent):
                without.append(title)
    assert without == []
    for panel in (None, *page.panels):
        if panel is not None:
            page.bring_to_front(panel.objectName())
            QApplication.processEvents()
        inside = stops(panel or window)
        for widget in inside:
            name = QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)
            assert name.strip(), described(widget)
        if inside:
            inside[0].setFocus()
            visited = walk(qtbot, window)
            assert [described(one) for one in inside if not has(visited, one)] == []
            assert {described(one) for one in visited if visited.count(one) > 1} == set(), "once round"


def test_that_tabs_of_panels_can_be_walked_by_keys(haloscope, show, qtbot):
    page = show("explore")
    bars = [bar for bar in page.findChildren(QTabBar) if bar.isVisible() and bar.count() > 1]
    assert bars
    for bar in bars:
        assert bar.focusPolicy() & Qt.FocusPolicy.TabFocus
        before = bar.currentIndex()
        bar.setFocus()
        qtbot.keyClick(bar, Qt.Key.Key_Right if before == 0 else Qt.Key.Key_Left)
        assert bar.currentIndex() != before


CONTROLS = (QAbstractSpinBox, QComboBox, QAbstractSlider, QTabBar)


def turn(widget, notches=-1):
    """Turn the wheel over the middle of a widget."""
    window = widget.window()
    point = widget.mapTo(window, widget.rect().center())
    QTest.wheelEvent(window.windowHandle(), point, QPoint(0, 120 * notches))
    QApplication.processEvents()


def controls(page):
    """Return the controls that the pointer can reach."""
    found = (widget for widget in page.findChildren(QWidget) if isinstance(widget, CONTROLS))
    shown = (one for one in found if one.isEnabled() and not one.visibleRegion().isEmpty())
    return [one for one in shown if not isinstance(one, QScrollBar)]


def value(control):
    return control.currentIndex() if isinstance(control, QComboBox | QTabBar) else control.value()


def test_that_the_wheel_leaves_every_control_without_the_focus_as_it_is(haloscope, qtbot):
    turned = set()
    for page in PAGES:
        shown_page(haloscope.window, page.key, qtbot)
        haloscope.window.activateWindow()
        QApplication.processEvents()
        focus = QApplication.focusWidget()
        for control in controls(haloscope.window.page):
            if control is focus:
                continue
            turned.add(page.key)
            before = value(control)
            for notches in (-1, 1, 1):
                turn(control, notches)
                assert (value(control), control.hasFocus()) == (before, False), control.accessibleName()
        assert QApplication.focusWidget() is focus
    assert turned >= {"explore", "matrices", "network"}


def test_that_the_wheel_scrolls_the_panel_and_with_the_focus_a_number_takes_steps(haloscope, qtbot):
    haloscope.reset(qtbot)
    haloscope.window.resize(1024, 640)
    panel = haloscope.window.page.mask_panel
    (area,) = panel.findChildren(QScrollArea)
    rows, border = panel.size_controls.rows_box, panel.apply_controls.border_box
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() > 0)
    scrolled = area.verticalScrollBar().maximum()
    area.verticalScrollBar().setValue(scrolled)
    turn(border, 1)
    assert area.verticalScrollBar().value() < scrolled
    haloscope.window.resize(1280, 800)
    haloscope.window.activateWindow()
    rows.setFocus()
    qtbot.waitUntil(rows.hasFocus)
    turn(rows, 1)
    assert haloscope.workspace.mask.rows == 5
    border.setFocus(Qt.FocusReason.MouseFocusReason)
    chosen = haloscope.workspace.settings.border
    for notches in (-1, 1):
        turn(border, notches)
        assert haloscope.workspace.settings.border == chosen


def owner(widget):
    """Return the address of the owner that Python knows, or None."""
    found = re.search(r"parent\W+.* at (0x[0-9a-f]+)>", shiboken6.dump(widget))
    return int(found[1], 16) if found else None


def test_that_python_gives_no_widget_another_owner_than_qt_does(haloscope, qtbot):
    for page in PAGES:
        haloscope.window.show_page(page.key)
        haloscope.window.activateWindow()
        for _ in range(20):
            focus = QApplication.focusWidget()
            if focus is not None:
                qtbot.keyClick(focus, Qt.Key.Key_Tab)
    haloscope.window.show_page("explore")
    haloscope.window.page.workspace.choose("median")
    haloscope.window.page.run()
    haloscope.pictures.open_sample("camera")
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    widgets = {id(widget): widget for widget in haloscope.window.findChildren(QWidget)}
    strange = []
    for widget in widgets.values():
        found = owner(widget)
        if found in widgets and not widgets[found].isAncestorOf(widget):
            strange.append((widgets[found], widget))
    assert strange == []
