"""The command `haloscope`, and `python -m haloscope`, as a shell sees them."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import haloscope
import pytest

SAMPLES = Path(haloscope.__file__).parent / "assets" / "samples"
ENDS = '" "-P" "-m" "haloscope" %f'
HAS_WINDOW = find_spec("PySide6") is not None


def test_that_the_version_is_printed(program):
    answer = program("--version")
    assert (answer.status, answer.out) == (0, f"haloscope {haloscope.__version__}\n")


def test_that_it_is_started_as_a_module_too(answer_of):
    answer = answer_of([sys.executable, "-m", "haloscope", "--version"])
    assert (answer.status, answer.out) == (0, f"haloscope {haloscope.__version__}\n")


@pytest.mark.parametrize("command", ["", "filter", "batch", "screenshot"])
def test_that_help_says_what_to_type_here(program, command):
    answer = program(*command.split(), "--help")
    assert answer.out.startswith(f"usage: haloscope {command}".rstrip())
    assert "main.py" not in answer.out


def test_that_filter_writes_a_verified_picture(program, elsewhere):
    answer = program("filter", SAMPLES / "camera.png", "soft.png", "--mask", "gaussian:9:1.5", "--json")
    assert answer.status == 0, answer.err
    assert json.loads(answer.out)["format"] == "haloscope-filter"
    assert haloscope.open_image(elsewhere / "soft.png").pixels.shape[:2] == (512, 512)


def test_that_batch_filters_a_folder(program, elsewhere):
    answer = program("batch", SAMPLES, "--out", "edges", "--mask", "sobel-x", "--device", "cpu")
    assert answer.status == 0, answer.err
    assert {path.name for path in (elsewhere / "edges").iterdir()} == {p.name for p in SAMPLES.iterdir()}


def test_that_devices_say_what_is_missing_for_cuda(program):
    (device,) = (
        each for each in json.loads(program("devices", "--json").out)["devices"] if each["key"] == "cuda:0"
    )
    assert device["available"] or "haloscope[cuda]" in str(device) or find_spec("numba_cuda")


@pytest.mark.skipif(HAS_WINDOW, reason="the window is installed")
@pytest.mark.parametrize("words", [[], ["screenshot", "window.png"]])
def test_that_a_missing_window_is_said_with_its_extra(program, words):
    answer = program(*words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "The window needs PySide6: pip install 'haloscope[gui]'\n"


@pytest.mark.skipif(not HAS_WINDOW, reason="the window is not installed")
def test_that_a_screenshot_shows_the_window_with_a_result(program, elsewhere):
    answer = program("screenshot", "window.png", SAMPLES / "impulse.png", "--mask", "emboss", "--run")
    assert answer.status == 0, answer.err
    assert haloscope.open_image(elsewhere / "window.png").pixels.shape[:2] == (1000, 1600)


def test_that_a_desktop_entry_starts_this_installation(program, elsewhere):
    answer = program("install-desktop", XDG_DATA_HOME=str(elsewhere))
    assert answer.status == 0, answer.err
    entry = (elsewhere / "applications" / "haloscope.desktop").read_text(encoding="utf-8")
    command = f'Exec="{Path(sys.executable).parent}/'
    assert [line for line in entry.splitlines() if line.startswith(command) and line.endswith(ENDS)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_that_a_shell_gets_its_completion(program, shell):
    answer = program("completion", shell)
    assert answer.status == 0, answer.err
    assert "gaussian-5" in answer.out


def test_that_the_source_of_a_kernel_is_that_of_the_installed_file(program):
    functions = json.loads(program("code", "tiled", "--json").out)["functions"]
    kernel = functions[0]
    text = (Path(haloscope.__file__).parents[1] / kernel["path"]).read_text(encoding="utf-8").split("\n")
    first = kernel["first_line"] - 1
    assert text[first : first + len(kernel["lines"])] == kernel["lines"]
