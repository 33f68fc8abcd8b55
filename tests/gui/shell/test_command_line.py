import re
from dataclasses import replace

import pytest

from engine.geometry.border import Border
from engine.mask.mask import Mask
from gui.explore.files import with_options
from gui.explore.session_file import Session
from gui.explore.workspace import Settings
from gui.shell.command_line import ScreenshotOptions, WindowOptions, parse
from gui.shell.launch import main, process_age_ms
from gui.shell.screenshot import begin_of
from tests.fresh_python import fresh_python

SHOT = ScreenshotOptions(out="out.png", image="in.png", mask="box-3", run=True)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("", WindowOptions()),
        ("photo.png --session work.json --theme dark", WindowOptions("photo.png", "work.json", "dark")),
        ("screenshot out.png", ScreenshotOptions(out="out.png")),
        ("screenshot out.png --page course", ScreenshotOptions(out="out.png", page="course")),
        ("screenshot out.png in.png --mask box-3 --variant tiled --size 1280x800 --theme dark --run",
         replace(SHOT, variant="tiled", size=(1280, 800), theme="dark")),
        # The picture may stand anywhere after the file.
        ("screenshot out.png --mask box-3 in.png --run", SHOT),
        ("screenshot --mask box-3 out.png in.png --run", SHOT),
        ("screenshot --mask box-3 --run out.png in.png", SHOT),
        ("screenshot out.png --run in.png --mask=box-3", SHOT),
    ],
)  # fmt: skip
def test_that_options_are_taken(line, options):
    assert parse(line.split()) == options


def test_that_device_border_and_flip_of_a_screenshot_stand_in_place_of_the_sessions():
    session = Session(
        "photo.png", "", Mask([[1, 2]]), Settings(border=Border.WRAP, variant="naive", baseline="tiled")
    )
    line = "screenshot out.png --device simulator --border mirror --flip --mask 3"
    shown = with_options(session, begin_of(parse(line.split())))
    assert shown.picture_path == "photo.png"
    assert shown.mask == Mask([[3]])
    assert shown.settings == Settings(
        border=Border.MIRROR, flip=True, variant="naive", device="simulator", baseline="tiled"
    )
    assert with_options(session, begin_of(parse(["screenshot", "out.png"]))) == session


@pytest.mark.parametrize(
    "line",
    [
        "photo.png other.png",
        "--theme pink",
        "--nonsense",
        "screenshot",
        "screenshot out.jpg",
        "screenshot --run",
        "screenshot out.png in.png other.png",
        "screenshot out.png in.png --run other.png",
        "screenshot out.png --size 10x10",
        "screenshot out.png --size big",
        "screenshot out.png --theme system",
        "fliter in.png out.png",
    ],
)
def test_that_bad_use_is_one_line_and_status_2(capsys, line):
    with pytest.raises(SystemExit) as ended:
        parse(line.split())
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["no-such.png"], ["--session", "no-such.json"]])
def test_that_a_file_that_is_not_there_is_one_line_and_status_2(capsys, arguments):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(arguments[-1])
    assert captured.err.count("\n") == 1


def test_that_without_a_screen_the_reason_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main([]) == 2
    assert "no screen" in capsys.readouterr().err


def test_that_the_age_of_the_process_grows_and_says_from_when():
    first, counted_from = process_age_ms()
    second, _ = process_age_ms()
    assert 0 < first <= second
    assert counted_from


def test_that_help_lists_every_command_without_qt_and_without_numba():
    code = (
        "import sys; sys.argv = ['main.py', '--help']\n"
        "import main\n"
        "try: main.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('PySide6', 'numba')]\n"
    )
    printed = fresh_python("-c", code)
    commands = ("filter", "batch", "bench", "devices", "variants", "masks", "matmul", "course", "screenshot")
    assert [command for command in commands if f"\n  {command} " not in printed] == []


def test_that_help_of_a_screenshot_shows_examples_that_can_be_used(capsys):
    with pytest.raises(SystemExit):
        parse(["screenshot", "--help"])
    _, _, text = capsys.readouterr().out.partition("examples:")
    examples = re.findall(r"python main\.py (screenshot .*)", text)
    assert len(examples) == 2
    for example in examples:
        assert parse(example.split()).out.endswith(".png")
