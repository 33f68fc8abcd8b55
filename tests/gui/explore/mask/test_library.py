"""The library of masks, one's own masks in it, and the generators with sliders."""

import os

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from engine.errors import EngineError
from engine.mask.generator_table import GENERATORS
from engine.mask.generators import generate
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.work.messages import EffectsRequest
from gui.explore.mask.generator_sliders import position_of
from gui.explore.mask.library import PresetButton
from gui.explore.mask.library_rows import ENTRY, SIDE, MaskEffects, OwnMasks, library_entries, matching
from gui.explore.workspace import Workspace
from tests.gui.fake_engine import RED


@pytest.fixture
def workspace():
    return Workspace(preset("sobel-x"))


@pytest.fixture
def own(tmp_path):
    return OwnMasks(tmp_path / "masks")


@pytest.fixture
def button(show_widget, workspace):
    button = show_widget(PresetButton(workspace))
    yield button
    button.library.close()


@pytest.fixture
def library(button):
    button.click()
    return button.library


def listed(library):
    entries = [library.rows.index(row, 0).data(ENTRY) for row in range(library.rows.rowCount())]
    return [entry.title for entry in entries if entry is not None]


def test_that_the_library_shows_what_each_mask_does_to_the_picture_that_is_open(bench, qtbot):
    button = PresetButton(bench.workspace)
    qtbot.addWidget(button)
    button.effects = MaskEffects(bench.workspace, bench.link)
    button.show()
    button.click()
    library = button.library
    entries = library.entries()
    qtbot.waitUntil(lambda: all(button.effects.of(entry.mask) is not None for entry in entries))
    shown = library.list.viewport().grab().toImage()
    y = library.list.visualRect(library.list.currentIndex()).center().y()
    line = [shown.pixelColor(x, y).getRgb()[:3] for x in range(shown.width())]
    assert line.count(RED) == SIDE
    library.close()
    # The same masks are requested once for a picture.
    button.click()
    library.close()
    (asked,) = bench.asked(EffectsRequest)
    assert asked.picture is bench.workspace.picture


def test_that_a_search_finds_titles_keys_and_sentences_and_enter_chooses_a_mask(qtbot, workspace, library):
    for words, first in [
        ("sobel y", "Sobel y"),
        ("gabor", "Gabor"),
        ("gaussian-5", "Gaussian 5 × 5"),
        ("  RELIEF", "Emboss"),
    ]:
        assert matching(library_entries([]), words)[0].title == first
    qtbot.keyClicks(library.search, "sobel")
    qtbot.keyClick(library.search, Qt.Key.Key_Down)
    qtbot.keyClick(library.search, Qt.Key.Key_Return)
    assert workspace.mask == preset("sobel-y")
    assert workspace.undo_stack.undoText() == "Preset Sobel y"
    assert not library.isVisible()


def test_that_own_masks_are_kept_deleted_and_brought_back_and_bad_names_refused(qtbot, workspace, library):
    workspace.set_mask(Mask([[1, 5, 1]]))
    library.name_field.setText("Better")
    library.keep()
    assert listed(library)[0] == "Better"
    library.delete(library.rows.index(1, 0).data(ENTRY))
    assert "Better" not in listed(library)
    library.undo_button.click()
    assert listed(library)[0] == "Better"
    workspace.set_mask(preset("emboss"))
    library.choose(library.rows.index(1, 0).data(ENTRY))
    assert workspace.mask == Mask([[1, 5, 1]])
    assert workspace.mask.name == "Better"
    library.name_field.setText("mine")
    library.keep()
    refused = {"": "no name", "  ": "no name", "x" * 300: "300 characters", "MINE": "your masks is called"}
    for name, words in refused.items():
        library.name_field.setText(name)
        library.keep()
        assert words in library.verdict.text()
        assert library.name_field.text() == name


def test_that_own_masks_keep_fractions_never_replace_a_file_and_a_damaged_one_is_named(own, tmp_path):
    mask = generate("box:3").with_cells([(0, 0)], "1/9")
    for name in ("a b", "a-b"):
        own.save(mask, name)
    assert sorted(os.listdir(own.folder)) == ["a-b-2.json", "a-b.json"]
    assert own.read()[0][0].mask.typed == mask.typed
    kept = own.save(Mask([[1, 2]]), "fine / with a slash")
    (own.folder / "bad.json").write_text("{")
    found, faults = own.read()
    assert [one.mask.name for one in found] == ["a b", "a-b", "fine / with a slash"]
    assert len(faults) == 1
    assert "bad.json" in faults[0]
    assert kept.path.name == "fine-with-a-slash.json"
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError):
        OwnMasks(tmp_path / "file" / "masks").save(Mask([[1]]), "m")


def test_that_sliding_is_live_and_one_step_to_undo_and_every_position_makes_a_mask(workspace, button):
    before = workspace.mask
    button.generate()
    sliders = button.library.sliders
    assert workspace.mask == generate("gaussian:9:1.5")
    for value in (2.0, 3.0, 4.0):
        sigma = sliders.sliders["sigma"]
        sigma.slider.setValue(position_of(sigma.parameter, value))
    assert workspace.mask == generate(sliders.spelling.text())
    sliders.sliders["rows"].field.entered.emit(5.0)
    assert workspace.mask.shape == (5, 5)
    workspace.undo_stack.undo()
    assert workspace.mask == before
    for generator in GENERATORS.values():
        button.library.open_generator(button, generator)
        for name in list(sliders.sliders):
            slider = sliders.sliders[name].slider
            for position in (slider.minimum(), slider.maximum(), slider.maximum() // 3):
                slider.setValue(position)
                if "cannot be made" not in sliders.verdict.text():
                    assert workspace.mask == generate(sliders.spelling.text()), (generator.key, name)
            sliders.reset_button.click()


def test_that_escape_takes_back_what_was_generated_and_a_wrong_number_is_named(workspace, button, qtbot):
    before, count = workspace.step, workspace.undo_stack.count()
    library = button.library
    library.open_generator(button, GENERATORS["gaussian"])
    field = library.sliders.sliders["sigma"].field
    field.setFocus()
    QTest.keyClicks(field, "3")
    QTest.keyClick(library.sliders.spelling, Qt.Key.Key_Escape)
    assert not library.isVisible()
    assert workspace.step == before
    library.open_generator(button, GENERATORS["gaussian"])
    library.done_button.click()
    assert not library.isVisible()
    assert workspace.step != before
    assert workspace.undo_stack.count() == count + 1
    for field, text, words in (
        ("sigma", "x", "you typed 'x'"),
        ("sigma", "0", "0.1 to 100"),
        ("rows", "2,5", "whole number"),
        ("rows", "900", "1 to 63"),
    ):
        button.generate()
        sliders = button.library.sliders
        mask, box = workspace.mask, sliders.sliders[field].field
        box.setText(text)
        box.editingFinished.emit()
        assert words in sliders.verdict.text()
        assert workspace.mask == mask
        qtbot.keyClicks(box, "5")
        assert words not in sliders.verdict.text(), "typing anew takes the refusal away"
        sliders.reset_button.click()
