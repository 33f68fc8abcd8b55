"""What opens beside the window: what the program is, its documents, the palette of commands, preferences."""

import posixpath
import re

import pytest
from PySide6.QtCore import QEvent, QModelIndex, Qt, QUrl
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton

from engine.geometry.border import Border
from engine.image.open import SAMPLES
from engine.mask.presets import preset, presets
from gui.shell import dialogs as documents
from gui.shell.dialogs import CommandPalette, DocumentWindow, commands_of, matching_commands, panel_of
from gui.shell.pages import PAGES
from gui.shell.preferences import refusal_of
from gui.style.theme import current_theme
from tests.gui.shell.test_main_window import assert_every_control_is_explained, assert_no_word_is_cut


@pytest.fixture
def haloscope(window_of_file):
    return window_of_file


@pytest.fixture
def dialog(haloscope):
    """The preferences, opened from the window."""
    dialog = haloscope.dialogs.show("preferences")
    yield dialog
    dialog.close()
    haloscope.preferences.choose(shortcuts={})
    haloscope.preferences.choose(letters=100)


# Before the other pages are there, whose widgets would follow.
def test_that_a_theme_is_shown_and_kept(haloscope, dialog):
    for name in ("dark", "light"):
        dialog.theme.setCurrentIndex(dialog.theme.findData(name))
        dialog.theme.activated.emit(dialog.theme.currentIndex())
        assert (haloscope.preferences.preferences.theme, current_theme().name) == (name, name)


def test_that_every_control_beside_the_window_is_explained_and_a_report_copied(haloscope, qapp):
    for name in ("palette", "documentation", "shortcuts", "preferences", "about"):
        haloscope.actions[name].trigger()
        qapp.processEvents()
        opened = [dialog for dialog in haloscope.window.findChildren(QDialog) if dialog.isVisible()]
        assert opened, name
        for window in opened:
            assert_every_control_is_explained(window)
            assert_no_word_is_cut(window)
            for button in window.findChildren(QPushButton):
                if button.text() == "&Copy":
                    button.click()
            window.close()
        qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    copied = qapp.clipboard().text()
    assert copied.startswith("Haloscope ")
    assert "crash.log" in copied


def test_that_hidden_panels_come_back_as_they_were_or_where_one_is_wanted(haloscope):
    page = haloscope.window.page
    before, seen = page.give_layout(), [panel.isVisible() for panel in page.panels]
    for _ in range(2):
        haloscope.actions["hide_panels"].trigger()
        assert not any(panel.isVisible() for panel in page.panels)
        assert page.give_layout() == before
        haloscope.actions["hide_panels"].trigger()
        assert [panel.isVisible() for panel in page.panels] == seen
    haloscope.actions["hide_panels"].trigger()
    page.bring_to_front("lens")
    assert page.panel("lens").isVisible()


@pytest.fixture
def reader(qtbot):
    """The window of documents."""
    window = DocumentWindow(None)
    qtbot.addWidget(window)
    window.show_section(documents.HOME)
    return window


def test_that_every_page_has_a_section_and_that_those_of_panels_exist(haloscope):
    heading = re.compile(r"(?m)^##+ (.+)$")
    anchors = {
        name: {"", *map(documents.anchor_of, heading.findall(documents.text_of(name)))}
        for name in documents.documents()
    }
    pages = [haloscope.window.page_of(page.key) for page in PAGES]
    assert all("" in page.sections for page in pages)
    links = (link.partition("#") for page in pages for link in page.sections.values())
    assert [name for name, _, anchor in links if anchor not in anchors[name]] == []


def test_that_help_opens_at_the_panel_that_has_the_focus(haloscope, monkeypatch):
    page = haloscope.window.page
    assert panel_of(page.surface, page) == "picture"
    monkeypatch.setattr("gui.shell.dialogs.QApplication.focusWidget", lambda: page.kernel_panel.kernels)
    haloscope.actions["panel_help"].trigger()
    (window,) = haloscope.window.findChildren(DocumentWindow)
    assert window.shown == "window.md#kernel"
    window.close()


def test_that_every_link_between_documents_works(reader, monkeypatch):
    # To make each document anew for each link took 11 s.
    monkeypatch.setattr(documents, "text_of", lambda name: "Words.")
    broken = []
    for name in documents.documents():
        for link in re.findall(r"\]\(([^)\s]+)\)", (documents.FOLDER / name).read_text()):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link.partition("#")[0]))
            if "://" not in link and target in documents.documents():
                reader.text.setSource(QUrl.fromLocalFile(documents.FOLDER / name).resolved(QUrl(link)))
                if reader.shown.partition("#")[0] != target:
                    broken.append((name, link))
    assert broken == []


def test_that_documents_are_chosen_left_again_and_shown_from_a_heading(reader):
    reader.list.setCurrentRow(list(documents.documents()).index("glossary.md"))
    assert reader.shown == "glossary.md"
    reader.text.backward()
    assert (reader.shown, reader.list.currentRow()) == (documents.HOME, 0)
    reader.resize(800, 500)
    reader.show()
    reader.show_section("cli.md#environment-variables")
    assert reader.text.verticalScrollBar().value() > 1000
    reader.show_section("decisions/0015-the-wheel-is-written.md")
    assert "is not in the window" in reader.text.toPlainText()


@pytest.fixture
def palette(haloscope):
    """The command palette over the window."""
    yield haloscope.dialogs.show("palette")
    # It deletes itself where something was chosen.
    for palette in haloscope.window.findChildren(CommandPalette):
        palette.close()


def titles(palette):
    return [command.title for command in palette.shown]


def choose(qtbot, palette, typed):
    palette.field.setText(typed)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    qtbot.wait(1)


def test_that_the_palette_lists_actions_samples_presets_pages_and_panels(haloscope, palette):
    listed = {command.key for command in palette.shown}
    assert set(haloscope.actions.entries) - {"palette"} <= listed
    assert {f"sample:{sample.key}" for sample in SAMPLES} <= listed
    assert {f"page:{page.key}" for page in PAGES} <= listed
    assert {f"panel:{panel.objectName()}" for panel in haloscope.window.page.panels} <= listed
    assert {one.title for one in presets()} <= set(titles(palette))


def test_that_a_few_letters_find_and_choose_what_there_is(haloscope, palette, qtbot):
    window, workspace = haloscope.window, haloscope.workspace
    for typed, key in (("blur", "Smooth:Gaussian 5 × 5"), ("median", "Operation:Noise reduction (median)")):
        palette.field.setText(typed)
        assert key in [command.key for command in palette.shown]
    for typed, is_done in (
        ("border mirror", lambda: workspace.settings.border is Border.MIRROR),
        ("so x", lambda: workspace.mask == preset("sobel-x")),
        ("roofl panel", lambda: window.page.panel("roofline").isVisible()),
    ):
        choose(qtbot, palette, typed)
        qtbot.waitUntil(is_done)
        palette = haloscope.dialogs.show("palette")
    workspace.undo_stack.setIndex(0)
    commands = commands_of(haloscope.actions, window.page)
    assert [matching_commands(name, commands)[0].key for name in ("run", "save")] == ["run", "save"]


def test_that_what_cannot_be_chosen_says_why_and_return_then_does_nothing(palette, qtbot):
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentIndex().row() == 1, "though the field has the focus"
    for typed in ("", "xq"):
        palette.field.setText(typed)
        palette.list.setCurrentIndex(QModelIndex())
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
        assert palette.isVisible()
    palette.field.setText("save results as csv")
    assert palette.shown[0].why_not
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()


def keys_of(haloscope, name):
    return [keys.toString() for keys in haloscope.actions[name].shortcuts()]


def type_keys(haloscope, dialog, name, pressed):
    """Type the keys of a command, as a person does."""
    keys = dialog.keys
    keys.table.selectRow(list(haloscope.actions.entries).index(name))
    QTest.keySequence(keys.edit, QKeySequence(pressed))


def test_that_a_new_key_is_the_command_s_at_once_also_taken_from_another_one_or_removed(haloscope, dialog):
    keys = dialog.keys
    type_keys(haloscope, dialog, "zoom_fit", "Ctrl+J")
    assert keys_of(haloscope, "zoom_fit") == ["Ctrl+J"]
    assert "(Ctrl+J)" in haloscope.actions["zoom_fit"].toolTip()
    assert haloscope.preferences.preferences.shortcuts == {"zoom_fit": "Ctrl+J"}
    type_keys(haloscope, dialog, "zoom_fit", "F5")
    assert "“Run”" in keys.note.text()
    assert (keys_of(haloscope, "zoom_fit"), keys_of(haloscope, "run")) == (["F5"], ["Ctrl+R"])
    keys.remove.click()
    assert keys_of(haloscope, "zoom_fit") == []
    keys.reset_all.click()
    assert (keys_of(haloscope, "zoom_fit"), keys_of(haloscope, "run")) == (["Ctrl+0"], ["Ctrl+R", "F5"])
    assert haloscope.preferences.preferences.shortcuts == {}
    for pressed in ("A", "Shift+A", "Ctrl+C"):
        type_keys(haloscope, dialog, "zoom_fit", pressed)
        assert keys.note.text(), "it would break typing"
        assert keys_of(haloscope, "zoom_fit") == ["Ctrl+0"], pressed
    for allowed in ("Ctrl+Shift+J", "F8", "Ctrl+,"):
        assert refusal_of(allowed) == ""
    # Of two commands with one key in a file the first has it.
    haloscope.preferences.choose(shortcuts={"run": "Ctrl+J", "open": "Ctrl+J"})
    assert (keys_of(haloscope, "run"), keys_of(haloscope, "open")) == (["Ctrl+J"], [])


def test_that_pages_keep_their_window_and_letters_their_ratio_at_every_size(open_window, qtbot):
    haloscope = open_window((1024, 700))
    page = haloscope.window.page
    size, small = QApplication.font().pointSizeF(), page.kernel_panel.device_note.font().pointSizeF()
    try:
        for percent in (80, 200):
            haloscope.preferences.choose(letters=percent)
            qtbot.waitUntil(haloscope.window.updatesEnabled)
            assert page.mask_panel.presets.font().pointSizeF() == pytest.approx(size * percent / 100)
            assert page.kernel_panel.device_note.font().pointSizeF() == pytest.approx(small * percent / 100)
            QApplication.processEvents()
            assert (haloscope.window.width(), haloscope.window.height()) == (1024, 700)
            assert page.minimumSizeHint().width() <= page.width()
    finally:
        haloscope.preferences.choose(letters=100)
        qtbot.waitUntil(haloscope.window.updatesEnabled)
