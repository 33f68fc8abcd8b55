import pytest
from PySide6.QtCore import QModelIndex, Qt

from engine.geometry.border import Border
from engine.image.open import SAMPLES
from engine.mask.presets import preset, presets
from gui.shell.dialogs import CommandPalette, commands_of, found_by
from gui.shell.pages import PAGES


@pytest.fixture
def haloscope(window_of_file):
    return window_of_file


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
    assert set(haloscope.actions.names()) - {"palette"} <= listed
    assert {f"sample:{sample.key}" for sample in SAMPLES} <= listed
    assert {f"page:{page.key}" for page in PAGES} <= listed
    assert {f"panel:{panel.objectName()}" for panel in haloscope.window.page.panels} <= listed
    assert {one.title for one in presets()} <= set(titles(palette))


def test_that_a_border_an_operation_and_what_tooltips_say_are_found(haloscope, palette, qtbot):
    for typed, key in (("blur", "Smooth:Gaussian 5 × 5"), ("median", "Operation:Noise reduction (median)")):
        palette.field.setText(typed)
        assert key in [command.key for command in palette.shown]
    choose(qtbot, palette, "border mirror")
    qtbot.waitUntil(lambda: haloscope.workspace.settings.border is Border.MIRROR)
    haloscope.workspace.undo_stack.undo()


def test_that_a_preset_is_chosen_by_a_few_letters(haloscope, palette, qtbot):
    choose(qtbot, palette, "so x")
    qtbot.waitUntil(lambda: haloscope.workspace.mask == preset("sobel-x"))


def test_that_a_panel_is_brought_to_the_front(haloscope, palette, qtbot):
    choose(qtbot, palette, "roofl panel")
    qtbot.waitUntil(lambda: haloscope.window.page.panel("roofline").isVisible())


def test_that_what_cannot_be_chosen_says_why_and_does_nothing(haloscope, palette, qtbot):
    palette.field.setText("save results as csv")
    (first, *_) = palette.shown
    assert first.why_not == "There are no results on this page."
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()


def test_that_every_command_that_cannot_be_chosen_has_a_reason(palette):
    assert {one.title for one in palette.shown if one.why_not == "Not available now."} <= {"Undo", "Redo"}


def test_that_the_better_fit_comes_first(haloscope):
    commands = commands_of(haloscope.actions, haloscope.window.page)
    assert found_by("run", commands)[0].key == "run"
    assert found_by("save", commands)[0].key == "save"
    assert found_by("xq", commands) == []


def test_that_arrow_keys_choose_while_the_field_has_the_focus(palette, qtbot):
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentIndex().row() == 1


@pytest.mark.parametrize("typed", ["", "xq"])
def test_that_return_does_nothing_where_no_command_is_marked(palette, qtbot, typed):
    palette.field.setText(typed)
    palette.list.setCurrentIndex(QModelIndex())
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
