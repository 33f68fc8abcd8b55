"""What the window reads and installs when it starts: command line, preferences, crash log, modules."""

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import QTimer

from engine import __version__
from engine.commands import COMMANDS
from engine.errors import FileWriteError
from engine.files import standard_streams
from engine.geometry.border import Border
from engine.mask.mask import Mask
from gui.explore.sessions import with_options
from gui.explore.state import EditedStep, PictureSource, State, StepSettings
from gui.page.contract import PageLayout
from gui.page.messages import Messages
from gui.shell import app, launch, screenshot
from gui.shell.app import UnexpectedErrors
from gui.shell.command_line import ScreenshotOptions, WindowOptions, parse
from gui.shell.launch import main, process_age_ms
from gui.shell.preferences import Preferences, default_path, load_preferences, save_preferences
from gui.shell.screenshot import begin_of
from tests.fresh_python import fresh_python
from tests.gui.fake_engine import FakeEngineClient

SHOT = ScreenshotOptions(out="out.png", image="in.png", mask="box-3", run=True)


def test_that_options_are_taken():
    for line, options in [
        ("", WindowOptions()),
        ("photo.png --session work.json --theme dark", WindowOptions("photo.png", "work.json", "dark")),
        # As desktops open a file.
        ("work.haloscope", WindowOptions(session="work.haloscope")),
        ("screenshot out.png --panel tile", ScreenshotOptions(out="out.png", panel="tile")),
        (
            "screenshot out.png in.png --mask box-3 --variant tiled --size 1280x800 --theme dark --run",
            replace(SHOT, variant="tiled", size=(1280, 800), theme="dark"),
        ),
        # The picture may stand anywhere after the file.
        ("screenshot --mask box-3 out.png in.png --run", SHOT),
        ("screenshot out.png --run in.png --mask=box-3", SHOT),
        ("screenshot in.png --gallery pictures", ScreenshotOptions(image="in.png", gallery="pictures")),
    ]:
        assert parse(line.split()) == options


def test_that_device_border_and_flip_of_a_screenshot_stand_in_place_of_the_sessions():
    step = EditedStep.of(Mask([[1, 2]])).with_settings(border=Border.WRAP, variant="naive", baseline="tiled")
    state = State((step,), 0, PictureSource("photo.png"))
    line = "screenshot out.png --device simulator --border mirror --flip --mask 3"
    shown = with_options(state, begin_of(parse(line.split())))
    assert shown.source == state.source
    assert shown.step.mask == Mask([[3]])
    assert shown.step.settings == StepSettings(
        border=Border.MIRROR, flip=True, variant="naive", device="simulator", baseline="tiled"
    )


@pytest.mark.parametrize(
    "line",
    [
        "photo.png other.png", "--theme pink", "--nonsense", "fliter in.png out.png", "screenshot",
        "screenshot out.jpg", "screenshot --run", "screenshot out.png in.png other.png",
        "screenshot out.png in.png --gallery pictures",
        "screenshot out.png in.png --run other.png", "screenshot out.png --size 10x10",
        "screenshot out.png --size big", "screenshot out.png --theme system",
    ],
)  # fmt: skip
def test_that_bad_use_is_one_line_with_status_2(capsys, line):
    with pytest.raises(SystemExit) as ended:
        parse(line.split())
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_that_a_start_without_its_files_is_refused_in_one_line(capsys):
    for line, says in (
        ("no-such.png", "no-such.png"),
        ("--session no-such.json", "no-such.json"),
        ("screenshot x.png no-such.png", "no-such.png"),
        ("screenshot no-folder/x.png", "no-folder/x.png cannot be written"),
    ):
        assert main(line.split()) == 2
        said = capsys.readouterr().err
        assert said.startswith(says)
        assert said.count("\n") == 1


@pytest.mark.slow
def test_that_a_start_that_is_refused_when_its_window_is_there_is_one_line_with_status_2(
    light_again, qapp, monkeypatch, capfd, tmp_path
):
    real = launch.EngineClient
    monkeypatch.setattr(app, "make_application", lambda: qapp)
    monkeypatch.setattr(screenshot, "make_application", lambda: qapp)
    monkeypatch.setattr(launch.interrupts, "_before_leaving", [])
    # A window sets them.
    monkeypatch.setattr("sys.excepthook", sys.excepthook)
    monkeypatch.setattr("threading.excepthook", threading.excepthook)
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (8, 8)).save("picture.png")
    before = Path("picture.png").read_bytes()
    for name, picture in (("mask", {}), ("of-picture", {"path": "picture.png"})):
        session = {"format": "haloscope-session", "version": 1, "picture": picture, "settings": {}}
        Path(f"{name}.json").write_text(json.dumps(session | {"mask": {"weights": [[1, 2]]}}))
    for client, line, says in (
        (real, "screenshot x.png --variant no-such-variant", "no-such-variant"),
        (FakeEngineClient, "screenshot picture.png --session of-picture.json", "is the picture itself"),
        # A session without a picture: there is nothing to run. That it is taken where nothing is to be run,
        # the gallery shows.
        (FakeEngineClient, "screenshot x.png --session mask.json --run", "Open a picture first"),
        # Nor is a first result waited for that does not come.
        (FakeEngineClient, "--measure-startup --session mask.json", "Open a picture"),
    ):
        monkeypatch.setattr(launch, "EngineClient", client)
        assert main(line.split()) == 2
        out, said = capfd.readouterr()
        assert (out, said.count("\n"), says in said) == ("", 1, True), said
        assert not Path("x.png").exists()
    assert Path("picture.png").read_bytes() == before
    # It has left its event loop, and those of later tests would end at once.
    QTimer.singleShot(0, qapp.quit)
    qapp.exec()


def test_that_a_start_without_a_screen_or_qt_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main([]) == 2
    assert "no screen" in capsys.readouterr().err
    for line, missing in (("", "PySide6"), ("screenshot out.png", "pyqtgraph")):
        monkeypatch.setattr(
            launch, "find_spec", lambda name, missing=missing: None if name == missing else name
        )
        assert main(line.split()) == 2
        assert capsys.readouterr().err == f"The window needs {missing}: pip install 'haloscope[gui]'\n"


def test_that_the_version_and_the_age_of_the_process_are_known(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert (left.value.code, capsys.readouterr().out) == (0, f"haloscope {__version__}\n")
    first, counted_from = process_age_ms()
    assert 0 < first <= process_age_ms()[0]
    assert counted_from


def test_that_help_lists_every_command_without_qt_and_without_numba():
    code = (
        "import sys; sys.argv = ['main.py', '--help']\n"
        "import main\n"
        "try: main.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('PySide6', 'numba')]\n"
    )
    printed = fresh_python("-W", "default", "-c", code)
    assert "ResourceWarning" not in printed
    assert [command for command in (*COMMANDS, "screenshot") if f"\n  {command} " not in printed] == []


def test_that_preferences_come_back_as_they_were_saved_or_an_error(tmp_path, tmp_path_factory):
    assert load_preferences(tmp_path / "none.json") == (Preferences(), "")
    path = tmp_path / "made" / "preferences.json"
    columns = {"explore": {"block": False}}
    arranged = {"explore": PageLayout({"page": (0.4, 0.6)}, ("code",), {"kernel": (1, 2, 300, 400)})}
    servers = ("me@server", "python3"), ("me@other", "python3.12")
    more = {"servers": servers, "letters": 150, "shortcuts": {"run": "Ctrl+J"}}
    kept = Preferences("dark", (3, 20, 1280, 775), True, arranged, "/home", columns, True, **more)
    save_preferences(path, kept)
    assert load_preferences(path) == (kept, "")
    # A file from before columns were kept, with the window's place in Qt's own form.
    earlier = {"version": 1, "theme": "dark", "geometry": "01d9", "layouts": {"explore": "00"}}
    path.write_text(json.dumps(earlier))
    assert load_preferences(path) == (Preferences("dark"), "")
    path.write_text(json.dumps({"version": 1, "theme": "dark", "letters": 7, "recent": [["mask", "/a"], []]}))
    assert load_preferences(path)[0] == Preferences("dark"), "what is right is kept"
    (tmp_path / "file").write_text("")
    with pytest.raises(FileWriteError):
        save_preferences(tmp_path / "file" / "p.json", Preferences())
    assert default_path().is_relative_to(tmp_path_factory.getbasetemp())


def test_that_a_bad_file_of_preferences_is_kept_as_bak(tmp_path):
    wrong = (
        '"theme": "pink"', '"window": "xyz"', '"window": [1, 2, 3]', '"window": [0, 0, 1e9, true]',
        '"window": [0, 0, 4294967296, 9]', '"is_maximized": 1', '"arranged": ["00"]',
        '"arranged": {"explore": null}', '"columns": ["block"]', '"columns": {"explore": {"block": 1}}',
        '"recorded": 1', '"last_folder": 1', '"letters": 70', '"letters": true', '"shortcuts": {"run": 1}',
        '"recent": [1]',
    )  # fmt: skip
    texts = "", "not json", "[]", '{"version": 2}', '{"version": 1, "theme": "dark", "theme": "light"}'
    for text in (*texts, *(f'{{"version": 1, {one}}}' for one in wrong)):
        path = tmp_path / "preferences.json"
        path.write_text(text)
        preferences, notice = load_preferences(path)
        assert preferences == Preferences()
        assert str(path.with_suffix(".json.bak")) in notice
        assert path.with_suffix(".json.bak").read_text() == text
        assert load_preferences(path) == (Preferences(), "")


@pytest.fixture
def errors(qapp, monkeypatch, tmp_path):
    """What catches unexpected errors; its log is `errors.log`."""
    monkeypatch.setattr("sys.excepthook", None)
    monkeypatch.setattr("threading.excepthook", None)
    errors = UnexpectedErrors(Messages())
    errors.install()
    errors.log = tmp_path / "crash.log"
    with errors.log.open("w") as file:
        monkeypatch.setattr(standard_streams, "_file", file)
        yield errors


def test_that_an_error_in_a_slot_or_a_thread_is_told_and_logged(errors, qapp, qtbot):
    try:
        raise ValueError("the slot failed")
    except ValueError as error:
        errors.catch(type(error), error, error.__traceback__)
    qapp.processEvents()
    message = errors._messages.newest
    assert message.why == "ValueError: the slot failed"
    assert "Traceback" in errors.log.read_text()
    with qtbot.waitSignal(errors.happened):
        thread = threading.Thread(target=lambda: [][1])
        thread.start()
        thread.join()
    qtbot.waitUntil(lambda: "IndexError" in errors._messages.newest.why)
    errors.catch(OSError, OSError(24, "Too many open files"), None)
    qapp.processEvents()
    assert errors._messages.newest.what == "No more files can be opened", "not just something"
    assert "Too many open files" in errors.log.read_text()


def test_that_the_crash_log_is_where_the_system_keeps_logs_or_stderr(tmp_path_factory, monkeypatch, capsys):
    assert standard_streams.log_path().is_relative_to(tmp_path_factory.getbasetemp())
    monkeypatch.setattr(standard_streams, "_file", None)
    standard_streams.note_error(ValueError("nowhere"))
    assert "ValueError: nowhere" in capsys.readouterr().err


CODE = """
import json, os, sys
from PySide6.QtTest import QTest
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
    while not happened():
        QTest.qWait(1)

def wait_for_slots():
    wait(lambda: all(slot.is_complete for slot in window.findChildren(Slot)))

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
    wait_for_slots()
for entry in PAGES[1:]:
    window.show_page(entry.key)
    wait(lambda: entry.key in window._entered and window._entered[entry.key].isVisible())
    wait_for_slots()
print(json.dumps({"at start": at_start, "while looking": sorted(ours() - known - ahead)}))
sys.stdout.flush()
haloscope.link.shutdown()
os._exit(0)
"""


@pytest.mark.slow
def test_that_a_window_is_complete_without_plots_and_icons_and_first_looks_import_nothing_of_it():
    # Until the window is complete but for hidden panels, and while these are shown.
    imported = json.loads(fresh_python("-c", CODE, QT_QPA_PLATFORM="offscreen").splitlines()[0])
    assert "gui.shell.main_window" in imported["at start"]
    assert [name for name in imported["at start"] if name.split(".")[0] != "gui"] == []
    assert [name for name in imported["at start"] if name == "gui.widgets.plot"] == []
    assert imported["while looking"] == []


@pytest.mark.slow
def test_that_the_whole_window_loads_no_library_of_the_engine_keeps_no_sources_and_has_all_classes_of_qt():
    # Of importing gui/qt_import.py itself, one source is kept. QCalendarWidget is used by nothing here: made
    # when it is first used, it is not in the module before.
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
