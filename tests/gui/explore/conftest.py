"""Fixtures of the panels of the page Explore: the state that they show."""

import pytest
from PySide6.QtCore import Qt

from gui.explore.explain import question
from gui.explore.results.results_model import ResultsModel
from tests.gui.made_results import make_engine_state, make_workspace


@pytest.fixture
def workspace(qapp):
    """A workspace with a picture and the mask of `tests.made_runs`."""
    return make_workspace()


@pytest.fixture
def state(qapp):
    """The state of an engine that is up, with a GPU."""
    return make_engine_state()


@pytest.fixture
def results(qapp):
    return ResultsModel()


@pytest.fixture
def enter(qtbot):
    """Return a function that types into a field, instead of what it shows."""

    def typed(field, text):
        field.setFocus()
        field.selectAll()
        qtbot.keyClicks(field, text)
        qtbot.keyClick(field, Qt.Key.Key_Return)

    return typed


@pytest.fixture
def look_at(show_widget):
    """Return a function that makes a panel of a size visible, with its state."""

    def look(panel, state, size, bench):
        panel.state = state
        show_widget(panel, *size)
        state.watch(True)
        bench.settle()
        return panel

    return look


@pytest.fixture(autouse=True)
def _asked_at_once(monkeypatch):
    """Ask about kernels without waiting for the end of an edit."""
    monkeypatch.setattr(question, "COMPILE_AFTER_MS", 0)
