import pytest
from PySide6.QtWidgets import QApplication, QDialog

from tests.gui.shell.test_main_window import assert_every_control_is_explained, assert_no_word_is_cut


@pytest.fixture
def haloscope(window_of_file):
    return window_of_file


@pytest.mark.parametrize("name", ["palette", "documentation", "shortcuts", "report", "about", "preferences"])
def test_that_every_control_of_what_opens_beside_the_window_is_explained(haloscope, name):
    haloscope.actions[name].trigger()
    QApplication.processEvents()
    opened = [dialog for dialog in haloscope.window.findChildren(QDialog) if dialog.isVisible()]
    assert opened
    for window in opened:
        assert_every_control_is_explained(window)
        assert_no_word_is_cut(window)
        window.close()


def test_that_a_report_has_the_versions_and_the_log(haloscope, qapp):
    haloscope.actions["report"].trigger()
    (dialog,) = (one for one in haloscope.window.findChildren(QDialog) if one.isVisible())
    next(button for button in dialog.findChildren(type(haloscope.window.message_bar._action))
         if button.text() == "&Copy").click()  # fmt: skip
    copied = qapp.clipboard().text()
    assert copied.startswith("Haloscope ")
    assert "crash.log" in copied
    dialog.close()


def test_that_hidden_panels_come_back_as_they_were_and_are_kept(haloscope):
    page = haloscope.window.page
    before = page.saveState()
    haloscope.actions["hide_panels"].trigger()
    assert not any(dock.isVisible() for dock in page.docks)
    assert page.give_layout() != page.saveState()
    haloscope.actions["hide_panels"].trigger()
    assert page.saveState() == before


def test_that_a_panel_that_came_back_is_in_the_layout_that_is_kept_from_another_page(haloscope):
    page = haloscope.window.page
    haloscope.actions["hide_panels"].trigger()
    page.dock("kernel").show()
    with_one = page.give_layout()
    haloscope.window.show_page("course")
    assert page.give_layout() == with_one


def test_that_full_screen_keeps_the_size_before(haloscope):
    before = haloscope.window.geometry()
    haloscope.actions["full_screen"].trigger()
    assert haloscope.window.isFullScreen()
    haloscope.actions["full_screen"].trigger()
    assert haloscope.window.geometry() == before
