import json

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox

from gui.shell.preferences import Preferences, load_preferences, refusal_of
from gui.style.theme import current_theme


@pytest.fixture
def haloscope(window_of_file):
    return window_of_file


@pytest.fixture
def dialog(haloscope):
    """The preferences, opened from the window."""
    dialog = haloscope.dialogs.show("preferences")
    yield dialog
    dialog.close()
    haloscope.preferences.choose_keys({})
    haloscope.preferences.choose_letters(100)


@pytest.fixture
def keys(dialog):
    return dialog.keys


def keys_of(haloscope, name):
    return [keys.toString() for keys in haloscope.actions[name].shortcuts()]


def type_keys(haloscope, keys, name, pressed):
    """Type the keys of a command, as a person does."""
    keys.table.selectRow(haloscope.actions.names().index(name))
    QTest.keySequence(keys.edit, QKeySequence(pressed))


def test_that_a_new_key_is_the_command_s_at_once_and_in_its_tooltip(haloscope, keys):
    type_keys(haloscope, keys, "zoom_fit", "Ctrl+J")
    assert keys_of(haloscope, "zoom_fit") == ["Ctrl+J"]
    assert "(Ctrl+J)" in haloscope.actions["zoom_fit"].toolTip()
    assert haloscope.preferences.preferences.shortcuts == {"zoom_fit": "Ctrl+J"}
    keys.reset_all.click()
    assert keys_of(haloscope, "zoom_fit") == ["Ctrl+0"]
    assert haloscope.preferences.preferences.shortcuts == {}


def test_that_a_key_of_another_command_is_taken_from_it_and_that_is_said(haloscope, keys):
    type_keys(haloscope, keys, "zoom_fit", "F5")
    assert "“Run”" in keys.note.text()
    assert (keys_of(haloscope, "zoom_fit"), keys_of(haloscope, "run")) == (["F5"], ["Ctrl+R"])


def test_that_a_command_can_be_left_without_keys(haloscope, keys):
    keys.table.selectRow(haloscope.actions.names().index("zoom_fit"))
    keys.remove.click()
    assert keys_of(haloscope, "zoom_fit") == []


def test_that_a_key_that_would_break_typing_is_refused(haloscope, keys):
    for pressed in ("A", "Shift+A", "Ctrl+C"):
        type_keys(haloscope, keys, "zoom_fit", pressed)
        assert keys.note.text()
        assert keys_of(haloscope, "zoom_fit") == ["Ctrl+0"], pressed
    for allowed in ("Ctrl+Shift+J", "F8", "Ctrl+,"):
        assert refusal_of(allowed) == ""


def test_that_of_two_commands_with_one_key_in_a_file_the_first_has_it(haloscope):
    haloscope.preferences.choose_keys({"run": "Ctrl+J", "open": "Ctrl+J"})
    assert (keys_of(haloscope, "run"), keys_of(haloscope, "open")) == (["Ctrl+J"], [])
    haloscope.preferences.choose_keys({})


def test_that_a_theme_is_shown_and_kept(haloscope, dialog):
    for name in ("dark", "light"):
        dialog.theme.setCurrentIndex(dialog.theme.findData(name))
        dialog.theme.activated.emit(dialog.theme.currentIndex())
        assert (haloscope.preferences.preferences.theme, current_theme().name) == (name, name)


def test_that_letters_of_no_size_are_refused_in_words(dialog, qtbot):
    editor = dialog.letters.lineEdit()
    editor.setText("500")
    dialog.letters.interpretText()
    assert dialog.refusal.text() == "Letter size did not change: '500' is not a whole number from 80 to 200."
    assert dialog.letters.value() == 100


def test_that_buttons_of_dialogs_have_no_icons_of_qt(dialog):
    (box,) = dialog.findChildren(QDialogButtonBox)
    assert all(button.icon().isNull() for button in box.buttons())


def test_that_pages_keep_their_window_and_letters_their_ratio_at_every_size(open_window, qtbot):
    haloscope = open_window((1024, 700))
    page = haloscope.window.page
    size, small = QApplication.font().pointSizeF(), page.kernel_panel.device_note.font().pointSizeF()
    try:
        for percent in (80, 150, 200):
            haloscope.preferences.choose_letters(percent)
            qtbot.waitUntil(haloscope.window.updatesEnabled)
            assert QApplication.font().pointSizeF() == pytest.approx(size * percent / 100)
            assert page.mask_panel.presets.font().pointSizeF() == pytest.approx(size * percent / 100)
            assert page.kernel_panel.device_note.font().pointSizeF() == pytest.approx(small * percent / 100)
            QApplication.processEvents()
            assert (haloscope.window.width(), haloscope.window.height()) == (1024, 700)
            assert page.minimumSizeHint().width() <= page.width()
    finally:
        haloscope.preferences.choose_letters(100)
        qtbot.waitUntil(haloscope.window.updatesEnabled)


def test_that_what_is_right_in_damaged_preferences_is_kept(tmp_path):
    path = tmp_path / "preferences.json"
    path.write_text(json.dumps({"version": 1, "theme": "dark", "letters": 7, "recent": [["mask", "/a"], []]}))
    assert load_preferences(path)[0] == Preferences(theme="dark")
