from collections import Counter

import pytest
from PySide6.QtGui import QKeySequence

from engine.image.open import SAMPLES
from engine.mask.presets import preset
from gui.engine_link.engine_state import EngineState
from gui.explore.explore_actions import ExploreActions
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.shell.menus import ENTRIES, PageActions, page_entries
from gui.shell.pages import PAGES


@pytest.fixture
def workspace(qapp):
    return Workspace(preset("sharpen"))


@pytest.fixture
def explore(workspace, bench):
    """The actions of the frame with its pages, and of the page Explore."""
    actions = Actions()
    actions.add(ENTRIES)
    actions.add_choice(page_entries(PAGES))
    PageActions(actions, bench.state, bench.link).show_edits(workspace.undo_stack)
    return ExploreActions(actions, workspace, EngineState())


def test_that_every_action_teaches_its_key_also_undo_where_it_names_the_step(explore, workspace, qapp):
    actions = explore._actions
    shortcuts = Counter(keys.toString() for action in actions.all() for keys in action.shortcuts())
    assert [text for text, count in shortcuts.items() if count > 1] == []
    for action in actions.all():
        assert action.text().strip("&…"), action.objectName()
        assert action.toolTip().endswith((".", ")")), action.objectName()
        assert len(action.toolTip()) > len(action.text()), action.objectName()
        if not action.isCheckable():
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            assert keys, action.objectName()
            assert f"({keys})" in action.toolTip(), action.objectName()
    known = {"open": "Ctrl+O", "run": "Ctrl+R", "cancel": "Esc", "quit": "Ctrl+Q", "undo": "Ctrl+Z"}
    assert {name: actions[name].shortcut().toString() for name in known} == known
    assert [action.data() for action in explore.samples] == [sample.key for sample in SAMPLES]
    workspace.set_mask(preset("box-3"), "Choose Box")
    qapp.processEvents()
    assert actions["undo"].text() == "&Undo Choose Box"
    assert "Ctrl+Z" in actions["undo"].toolTip()
    actions["undo"].trigger()
    assert workspace.mask == preset("sharpen")
