import pytest
from PySide6.QtWidgets import QApplication, QDialog

from tests.gui.shell.test_main_window import assert_every_control_is_explained, assert_no_word_is_cut


@pytest.fixture
def haloscope(window_of_file):
    return window_of_file


@pytest.mark.parametrize("name", ["palette", "documentation", "shortcuts", "about", "preferences"])
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
    haloscope.actions["about"].trigger()
    (dialog,) = (one for one in haloscope.window.findChildren(QDialog) if one.isVisible())
    next(button for button in dialog.findChildren(type(haloscope.window.message_bar._action))
         if button.text() == "&Copy").click()  # fmt: skip
    copied = qapp.clipboard().text()
    assert copied.startswith("Haloscope ")
    assert "crash.log" in copied
    dialog.close()


def test_that_hidden_panels_come_back_as_they_were_and_are_kept(haloscope):
    page = haloscope.window.page
    before, seen = page.give_layout(), [panel.isVisible() for panel in page.panels]
    haloscope.actions["hide_panels"].trigger()
    assert not any(panel.isVisible() for panel in page.panels)
    assert page.picture_view.isVisible()
    assert page.give_layout() == before
    haloscope.actions["hide_panels"].trigger()
    assert [panel.isVisible() for panel in page.panels] == seen
    haloscope.actions["hide_panels"].trigger()
    page.bring_to_front("lens")
    assert page.panel("lens").isVisible()
    assert page.panel("kernel").isVisible()
