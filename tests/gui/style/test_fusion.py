"""The mouse wheel, by events of the window system: over each control of each page."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QWidget,
)

from gui.shell.pages import PAGES
from tests.gui.made_window import shown_page

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
    return [
        one
        for one in found
        if not isinstance(one, QScrollBar) and not one.visibleRegion().isEmpty() and one.isEnabled()
    ]


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


def test_that_the_wheel_over_a_control_scrolls_the_panel_around_it(open_window):
    panel = open_window((1024, 640)).window.page.mask_panel
    (area,) = panel.findChildren(QScrollArea)
    scrolled = area.verticalScrollBar().maximum()
    area.verticalScrollBar().setValue(scrolled)
    turn(panel.apply_controls.border_box, 1)
    assert area.verticalScrollBar().value() < scrolled


def test_that_with_the_focus_only_a_number_takes_steps(haloscope, qtbot):
    panel = haloscope.window.page.mask_panel
    haloscope.window.activateWindow()
    rows, border = panel.size_controls.rows_box, panel.apply_controls.border_box
    rows.setFocus()
    qtbot.waitUntil(rows.hasFocus)
    turn(rows, 1)
    assert haloscope.workspace.mask.rows == 5
    border.setFocus(Qt.FocusReason.MouseFocusReason)
    chosen = haloscope.workspace.settings.border
    for notches in (-1, 1):
        turn(border, notches)
        assert haloscope.workspace.settings.border == chosen
