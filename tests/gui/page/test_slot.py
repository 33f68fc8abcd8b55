"""Widgets that are made when they are looked at: when, in which turn, and what was imported before."""

import gc
import sys
from importlib import import_module
from threading import current_thread, main_thread

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QHBoxLayout, QPushButton, QStackedWidget, QWidget
from shiboken6 import delete, isValid

from gui.page import imports as imports_module
from gui.page.imports import Imports
from gui.page.slot import Slot
from gui.widgets.tab_stops import focus_next


@pytest.fixture
def show(qtbot):
    """Return a function that shows slots side by side."""

    windows = []

    def show(*slots):
        window = QWidget()
        windows.append(window)
        window.setLayout(QHBoxLayout())
        for slot in slots:
            window.layout().addWidget(slot)
        with qtbot.waitExposed(window):
            window.show()
        return window

    yield show
    for window in filter(isValid, windows):
        window.close()


@pytest.fixture
def loaded(monkeypatch):
    """The names that were imported, each with whether a thread did; none is there before."""
    loaded = []

    def load(name):
        # Windows of other tests may still have announced theirs.
        if not name.startswith("no_such."):
            return import_module(name)
        loaded.append((name, current_thread() is not main_thread()))
        sys.modules[name] = sys
        return sys

    monkeypatch.setattr(imports_module, "import_module", load)
    yield loaded
    for name, _ in loaded:
        sys.modules.pop(name, None)


def test_that_each_widget_is_made_in_a_turn_of_its_own(show, qtbot):
    log = []

    def made(name):
        log.append(name)
        QTimer.singleShot(0, lambda: log.append("window"))
        return QWidget()

    slots = [Slot(lambda name=name: made(name)) for name in "abc"]
    show(*slots)
    qtbot.waitUntil(lambda: log.count("window") == 3)
    assert log == ["a", "window", "b", "window", "c", "window"]
    qtbot.waitUntil(lambda: all(slot.is_settled for slot in slots))


def test_that_a_widget_is_put_into_its_place_in_a_turn_after_the_one_that_made_it(show, qtbot):
    found = []

    def made():
        QTimer.singleShot(0, lambda: found.append(slot.widget))
        return QWidget()

    slot = Slot(made)
    show(slot)
    qtbot.waitUntil(lambda: slot.widget is not None and slot.widget.isVisible())
    assert found == [None]


def test_that_nothing_is_made_for_a_tab_that_nobody_looks_at(show, qtbot):
    first, second = Slot(QWidget), Slot(QWidget)
    tabs = QStackedWidget()
    tabs.addWidget(first)
    tabs.addWidget(second)
    show(tabs)
    tabs.setCurrentWidget(second)
    qtbot.waitUntil(lambda: second.widget is not None and second.widget.isVisible())
    # It was in front when the window was opened, and no more when its turn came.
    assert first.widget is None
    assert first.is_settled


def test_that_a_slot_whose_window_is_gone_makes_nothing(show, qtbot):
    log = []
    gone = Slot(lambda: log.append("gone"))
    delete(show(gone))
    stays = Slot(lambda: log.append("stays") or QWidget())
    show(stays)
    qtbot.waitUntil(lambda: "stays" in log)
    assert log == ["stays"]


def test_that_a_slot_says_when_its_widget_is_looked_at(show, qtbot):
    slot, log = Slot(QWidget), []
    slot.looked_at.connect(log.append)
    window = show(slot)
    qtbot.waitUntil(lambda: bool(log))
    window.hide()
    window.show()
    assert log == [True, False, True]


def test_that_tab_goes_through_what_is_made_where_its_slot_is(show, qtbot):
    before, slot, after = QPushButton("before"), Slot(lambda: QPushButton("made")), QPushButton("after")
    window = show(before, slot, after)
    qtbot.waitUntil(lambda: slot.widget is not None and slot.widget.isVisible())
    window.activateWindow()
    before.setFocus()
    qtbot.waitUntil(before.hasFocus)
    reached = []
    for _ in range(2):
        focus_next(window, is_forward=True)
        reached.append(QApplication.focusWidget().text())
    assert reached == ["made", "after"]


def test_that_a_thread_imports_what_is_looked_at_before_it_is_made(show, qtbot, loaded):
    made = []
    slot = Slot(lambda: made.append("no_such.panel" in sys.modules) or QWidget(), "no_such.panel")
    show(slot)
    qtbot.waitUntil(lambda: bool(made))
    assert made == [True]
    assert loaded == [("no_such.panel", True)]


def test_that_what_is_announced_is_imported_once_begun_and_what_is_waited_for_comes_first(qtbot, loaded):
    imports, there = Imports(), []
    for name in ("one", "two", "three"):
        imports.announce(f"no_such.{name}")
    assert loaded == []
    imports.begin()
    imports.wait_for("no_such.three", lambda: there.append(len(loaded)))
    qtbot.waitUntil(lambda: len(loaded) == 3)
    assert loaded == [(f"no_such.{name}", True) for name in ("one", "three", "two")]
    qtbot.waitUntil(lambda: bool(there))


def test_that_no_garbage_is_collected_while_a_thread_imports(qtbot, monkeypatch):
    collects, there = [], []
    monkeypatch.setattr(imports_module, "import_module", lambda name: collects.append(gc.isenabled()))
    Imports().wait_for("no_such.module", lambda: there.append(gc.isenabled()))
    qtbot.waitUntil(lambda: bool(there))
    assert (collects, there) == ([False], [True])


def test_that_a_module_that_is_there_is_not_waited_for(loaded):
    there = []
    Imports().wait_for("sys", lambda: there.append(True))
    assert there == [True]


def test_that_a_module_that_cannot_be_imported_is_said_by_whoever_needs_it(show, qtbot):
    slot = Slot(lambda: import_module("no_such_module_at_all").Panel(), "no_such_module_at_all")
    with qtbot.captureExceptions() as raised:
        show(slot)
        qtbot.waitUntil(lambda: bool(raised))
    assert [kind for kind, *_ in raised] == [ModuleNotFoundError]
