"""Fixtures of the window's tests: the whole window and its controllers around a fake engine."""

import gc

import numpy as np
import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QUndoStack
from pytestqt.qtbot import QtBot
from shiboken6 import getAllValidWrappers

from engine.host.request import SharedArray
from engine.host.shared import unlink
from gui.engine_link.engine_start import StartedEngine
from gui.explore import preview_controller
from gui.shell import closing
from gui.style.theme import apply_theme
from tests.conftest import patient
from tests.gui.fake_engine import FakeEngineClient
from tests.gui.made_results import shared
from tests.gui.made_window import Bench, OpenedWindow


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Wait for any preview, however long: a stalled machine is no slow preview that has to be stopped."""
    monkeypatch.setattr(preview_controller, "PATIENCE_MS", 3_600_000)


@pytest.fixture(scope="module")
def rest_is_kept(qapp):
    """Leave what there is before the first window of a file out of the search for the windows to free."""
    # Of garbage PySide gives commands back to Python, which deletes them; then Qt does, with their stack: two
    # runs of all tests crashed here.
    for stack in (one for one in getAllValidWrappers() if isinstance(one, QUndoStack)):
        stack.blockSignals(True)
        stack.clear()
    gc.collect()
    gc.freeze()


@pytest.fixture
def light_again(rest_is_kept, qapp):
    """Bring the light theme back when no widget is left that would have to follow it."""
    # The menus of earlier windows lie in cycles: with 1,300 of them a change of theme took 4 s.
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    # What is left stays: modules, and the Python side of windows before, which PySide's connections hold. To
    # look through it took 50 ms a window.
    gc.freeze()
    yield
    # Each widget that is left would be painted anew.
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    apply_theme(qapp, "light")


@pytest.fixture
def open_window(light_again, qtbot, qapp):
    """Return a function that makes the whole window around a fake engine, with a sample picture."""
    made = []

    def make(*size, **given):
        made.append(opened(qapp, qtbot, *size, **given))
        qtbot.addWidget(made[-1].window)
        return made[-1]

    yield make
    for haloscope in made:
        close(haloscope)


def opened(app, bot, size=(1280, 800), theme="light", preferences_path=None, recovery_folder=None, **options):
    """Return the whole window around a fake engine, with a sample picture and its first result."""
    engine = StartedEngine(lambda **callbacks: FakeEngineClient(**callbacks, **options))
    haloscope = OpenedWindow(app, engine, preferences_path, theme, recovery_folder)
    haloscope.window.resize(*size)
    with bot.waitExposed(haloscope.window):
        haloscope.window.show()
    haloscope.finish()
    haloscope.pictures.open_sample("astronaut")
    bot.waitUntil(lambda: haloscope.state.last_result is not None)
    # The ready chains are listed after the first preview.
    bot.waitUntil(lambda: "chain:unsharp" in haloscope.actions.entries)
    return haloscope


def close(haloscope):
    """Close a window without a question."""
    haloscope.closing.close(haloscope.link.files_being_saved, haloscope.window.unsaved)
    haloscope.link.shutdown()


@pytest.fixture(scope="module")
def window_of_file(request, rest_is_kept, qapp, tmp_path_factory):
    """One window for the tests of a file: to make it takes longer than most of them do."""
    with pytest.MonkeyPatch.context() as own:
        for kind in ("CONFIG", "DATA", "STATE"):
            own.setenv(f"XDG_{kind}_HOME", str(tmp_path_factory.mktemp("settings")))
        haloscope = opened(qapp, patient(QtBot(request)))
    yield haloscope
    # A visible lens would draw its frames on a canvas that is gone.
    haloscope.window.first_page.bring_to_front("mask")
    qapp.processEvents()
    close(haloscope)
    haloscope.window.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    apply_theme(qapp, "light")


@pytest.fixture
def haloscope(request, qtbot):
    """The window of the file, with everything on its page Explore as `opened` makes it.

    A test that changes more, such as other pages or the size of the window, or wants panels that
    were never shown, is marked `fresh_window`: it gets one of its own.
    """
    if request.node.get_closest_marker("fresh_window"):
        return request.getfixturevalue("open_window")()
    window = request.getfixturevalue("window_of_file")
    window.reset(qtbot)
    return window


@pytest.fixture
def restart(haloscope, qtbot, tmp_path, monkeypatch):
    """Return a function that starts a program anew, in the window of the file: it keeps its work at once."""
    monkeypatch.setattr(closing, "KEEP_AFTER_MS", 1)

    def begin():
        haloscope.start_again(qtbot, tmp_path / "kept")
        return haloscope

    yield begin
    haloscope.start_again(qtbot, None)


@pytest.fixture
def show_widget(qtbot):
    """Return a function that shows a widget, of a size if one is given, and returns it."""

    def shown(widget, *size):
        qtbot.addWidget(widget)
        if size:
            widget.resize(*size)
        widget.show()
        return widget

    return shown


@pytest.fixture
def make_bench(qapp):
    made = []

    def make(**options):
        made.append(Bench(**options))
        made[-1].settle()
        return made[-1]

    yield make
    for bench in made:
        bench.link.shutdown()


@pytest.fixture
def bench(make_bench):
    """A bench whose engine answers at once, with a picture open."""
    bench = make_bench()
    bench.open()
    return bench


@pytest.fixture
def slow_bench(make_bench):
    """A bench whose engine answers when the test says so, with a picture open."""
    bench = make_bench(automatic=False)
    bench.open()
    return bench


@pytest.fixture
def share():
    """Put arrays into shared memory, and take them away after the test."""
    names: list[str] = []

    def put(array: np.ndarray) -> SharedArray:
        segment = shared(array)
        names.append(segment.name)
        return segment

    yield put
    unlink(*names)
