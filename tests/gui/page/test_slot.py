"""Widgets that are made when they are first visible: in which turn, and what was imported before."""

import sys
import time
from importlib import import_module
from threading import current_thread, main_thread

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget
from shiboken6 import delete, isValid

from gui.page import slot as slot_module
from gui.page.slot import Slot, import_announced
from gui.style.metrics import PAUSE_MS, Turns


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
        loaded.append((name, current_thread() is not main_thread()))
        sys.modules[name] = sys
        return sys

    monkeypatch.setattr(slot_module, "_announced", [])
    monkeypatch.setattr(slot_module, "import_module", load)
    yield loaded
    for name, _ in loaded:
        sys.modules.pop(name, None)


def test_that_each_widget_is_made_in_a_turn_of_its_own_and_put_into_its_place_in_another(show, qtbot):
    log = []

    def made(at):
        log.append("abc"[at])
        QTimer.singleShot(0, lambda: log.append("window" if slots[at].widget is None else "too early"))
        return QWidget()

    slots = [Slot(lambda at=at: made(at)) for at in range(3)]
    show(*slots)
    qtbot.waitUntil(lambda: log.count("window") == 3)
    assert log == ["a", "window", "b", "window", "c", "window"]
    qtbot.waitUntil(lambda: all(slot.is_complete for slot in slots))


def test_that_nothing_is_made_for_a_hidden_tab(show, qtbot):
    first, second = Slot(QWidget), Slot(QWidget)
    tabs = QStackedWidget()
    tabs.addWidget(first)
    tabs.addWidget(second)
    show(tabs)
    tabs.setCurrentWidget(second)
    qtbot.waitUntil(lambda: second.widget is not None and second.widget.isVisible())
    # It was in front when the window was opened, and no more when its turn came.
    assert first.widget is None
    assert first.is_complete


def test_that_a_slot_whose_window_is_gone_makes_nothing(show, qtbot):
    log = []
    gone = Slot(lambda: log.append("gone"))
    delete(show(gone))
    stays = Slot(lambda: log.append("stays") or QWidget())
    show(stays)
    qtbot.waitUntil(lambda: "stays" in log)
    assert log == ["stays"]


def test_that_modules_are_imported_one_a_turn_on_the_gui_thread_before_visible_widgets(show, qtbot, loaded):
    log, made = [], []
    slots = [Slot(QWidget, f"no_such.{name}") for name in ("one", "two")]
    assert loaded == []
    import_announced()
    QTimer.singleShot(0, lambda: log.append(len(loaded)))
    qtbot.waitUntil(lambda: len(loaded) == len(slots))
    assert log == [1]
    assert loaded == [("no_such.one", False), ("no_such.two", False)]
    show(Slot(lambda: made.append(list(loaded)) or QWidget(), "no_such.panel"))
    qtbot.waitUntil(lambda: bool(made))
    assert made[0][2:] == [("no_such.panel", False)]


def test_that_a_module_that_cannot_be_imported_is_said_by_whoever_needs_it(show, qtbot):
    slot = Slot(lambda: import_module("no_such_module_at_all").Panel(), "no_such_module_at_all")
    with qtbot.captureExceptions() as raised:
        show(slot)
        qtbot.waitUntil(lambda: bool(raised))
    assert [kind for kind, *_ in raised] == [ModuleNotFoundError]


def test_that_jobs_run_once_each_in_order_after_what_the_one_before_has_set_off_also_where_one_fails(qtbot):
    turns, log = Turns(), []

    class Panel(QObject):
        def event(self, event):
            # Longer than the pause.
            time.sleep(2e-3 * PAUSE_MS)
            log.append("layout")
            return super().event(event)

    panel = Panel()

    def first():
        log.append("first")
        # What is requested during a turn waits for its own.
        turns.ask(lambda: log.append("last"))
        QCoreApplication.postEvent(panel, QEvent(QEvent.Type.User))

    def fail():
        raise ValueError("on purpose")

    for job in (first, fail, first, fail):
        turns.ask(job)
    assert log == []
    with qtbot.captureExceptions() as raised:
        qtbot.waitUntil(lambda: "last" in log)
    assert log == ["first", "layout", "last"]
    assert [str(error) for _, error, _ in raised] == ["on purpose"]
