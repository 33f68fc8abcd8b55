"""First looks at panels and pages, in a fresh process: what they need is imported before they are made."""

import json

import pytest

from tests.fresh_python import fresh_python

CODE = """
import json, os, sys
from PySide6.QtCore import QEventLoop, QTimer
from gui.engine_link.engine_start import StartedEngine
from gui.page import slot
from gui.page.slot import Slot
from gui.shell.app import Haloscope, make_application
from gui.shell.pages import PAGES
from tests.gui.fake_engine import FakeEngineClient

ahead, load = set(), slot.import_module
def note(name):
    before = set(sys.modules)
    load(name)
    ahead.update(set(sys.modules) - before)
slot.import_module = note

def wait(happened):
    loop, timer = QEventLoop(), QTimer()
    timer.timeout.connect(lambda: happened() and loop.quit())
    timer.start(1)
    loop.exec()

def ours():
    return {name for name in sys.modules if name.split(".")[0] in ("gui", "pyqtgraph", "qtawesome", "qtpy")}

haloscope = Haloscope(make_application(), StartedEngine(FakeEngineClient))
window, page = haloscope.window, haloscope.window.first_page
window.show()
wait(lambda: hasattr(page, "chain_actions"))
page.pictures.open_sample("astronaut")
wait(lambda: haloscope.state.last_result is not None)
wait(lambda: not slot._announced)
known, at_start = ours(), sorted(ours() - ahead)
for panel in page.panels:
    panel.bring_to_front()
    wait(lambda: all(slot.is_settled for slot in window.findChildren(Slot)))
for entry in PAGES[1:]:
    window.show_page(entry.key)
    wait(lambda: entry.key in window._entered and window._entered[entry.key].isVisible())
    wait(lambda: all(slot.is_settled for slot in window.findChildren(Slot)))
print(json.dumps({"at start": at_start, "while looking": sorted(ours() - known - ahead)}))
sys.stdout.flush()
haloscope.link.shutdown()
os._exit(0)
"""


@pytest.fixture(scope="module")
def imported():
    """What is imported until the window is complete but for what is not looked at, and while that is."""
    return json.loads(fresh_python("-c", CODE, QT_QPA_PLATFORM="offscreen").splitlines()[0])


@pytest.mark.slow
def test_that_a_window_is_complete_without_plots_and_icons_and_first_looks_import_nothing_of_it(imported):
    assert "gui.shell.main_window" in imported["at start"]
    assert [name for name in imported["at start"] if name.split(".")[0] != "gui"] == []
    assert [name for name in imported["at start"] if name == "gui.widgets.plot"] == []
    assert imported["while looking"] == []


@pytest.mark.slow
def test_that_the_whole_window_loads_no_library_of_the_engine_keeps_no_sources_and_has_all_classes_of_qt():
    # Of importing gui/qt_import.py itself, one source is kept. QCalendarWidget is used by nothing here: made
    # when it is asked for, it is not in the module before.
    code = """
import gui.shell.app, PySide6.QtWidgets
print("QCalendarWidget" in vars(PySide6.QtWidgets))
import importlib, linecache, pkgutil, sys
for module in pkgutil.walk_packages(gui.__path__, "gui."):
    if module.name != "gui.qt_import":
        importlib.import_module(module.name)
print(sorted({"cuda", "numba", "llvmlite", "numpy.ma", "scipy"} & set(sys.modules)), len(linecache.cache) < 5)
"""
    environment = {"QT_QPA_PLATFORM": "offscreen", "PYSIDE6_OPTION_LAZY": "1"}
    assert fresh_python("-c", code, **environment) == "True\n[] True\n"
