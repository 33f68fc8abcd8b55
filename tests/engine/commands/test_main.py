"""Exit statuses and streams, as a shell sees them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine.commands
from engine.commands import COMMANDS
from engine.errors import DeviceFault, EngineError
from engine.image.samples import sample_path

ROOT = Path(engine.commands.__file__).parents[2]


def test_that_a_finished_command_has_status_0_and_prints_one_json_document(program, tmp_path):
    out = tmp_path / "out.png"
    answer = program("filter", sample_path("impulse"), out, "--mask", "sobel-x", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert json.loads(answer.out)["operation"] == "correlation"
    assert out.stat().st_size > 0


def test_that_bad_input_has_status_2_and_one_line(program, tmp_path):
    answer = program("filter", "nowhere.png", tmp_path / "out.png", "--mask", "box-3", "--json")
    line = "nowhere.png cannot be opened: there is no such file. Check the name and the folder.\n"
    assert (answer.status, answer.out, answer.err) == (2, "", line)


def test_that_a_missing_device_has_status_3_and_one_line(program, tmp_path):
    arguments = (
        "filter",
        sample_path("impulse"),
        tmp_path / "out.png",
        "--mask",
        "box-3",
        "--device",
        "cuda:77",
    )
    answer = program(*arguments)
    assert (answer.status, answer.out) == (3, "")
    assert answer.err.startswith("device 'cuda:77': there is no such device here. Choose one of auto, cpu,")
    assert not (tmp_path / "out.png").exists()


def test_that_a_reader_who_leaves_early_is_no_error(program):
    reader, writer = os.pipe()
    os.close(reader)
    answer = program("masks", stdout=writer)
    os.close(writer)
    assert (answer.status, answer.err) == (141, "")


def test_that_commands_load_no_qt_and_importing_them_loads_nearly_nothing():
    code = (
        "import sys; import engine.commands as c; heavy = {'numba', 'numpy', 'argparse'} & set(sys.modules);"
        "status = c.main(['variants']); qt = {'PySide6', 'gui', 'pyqtgraph'} & set(sys.modules);"
        "sys.stderr.write(f'{sorted(heavy)} {sorted(qt)} {status}')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stderr == "[] [] 0"


@pytest.mark.parametrize("name", COMMANDS)
def test_that_help_shows_examples_and_exit_statuses(command, name):
    answer = command(name, "--help")
    assert (answer.status, answer.err) == (0, "")
    assert f"python main.py {name}" in answer.out
    assert "examples:" in answer.out
    assert "4 failed verification" in answer.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), ("there is no such command", "filter, batch, bench")),
        (("sharpen",), ("'sharpen'", "there is no such command", "filter, batch, bench")),
        (("masks", "--jsn"), ("unrecognized arguments: --jsn", "`python main.py masks --help`")),
        (("variants", "tiled"), ("unrecognized arguments: tiled",)),
        (("bench",), ("required: --out", "--help")),
    ],
    ids=["nothing", "unknown command", "unknown option", "one word too many", "missing option"],
)
def test_that_bad_use_is_refused_in_one_line(refused, arguments, says):
    refused(*arguments, status=2, says=says)


def _raise(error):
    def run(arguments):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyboardInterrupt(), 130, "Stopped.\n"),
        (KeyboardInterrupt("Stopped: 2 of 3 cells done."), 130, "Stopped: 2 of 3 cells done.\n"),
        (MemoryError(), 2, "Not enough memory: the system gave no more. Use a smaller picture.\n"),
        (EngineError("a", "b", "c"), 2, "a: b. c\n"),
        (
            ZeroDivisionError("by\nzero"),
            1,
            "Unexpected error: ZeroDivisionError: by zero. ",
        ),
    ],
    ids=["Ctrl+C", "Ctrl+C with words", "memory", "told in words", "unexpected"],
)
def test_that_every_end_is_one_line(command, monkeypatch, error, status, line):
    monkeypatch.setattr("engine.commands.listing.run_masks", _raise(error))
    answer = command("masks")
    assert (answer.status, answer.out) == (status, "")
    assert answer.err.startswith(line)
    assert answer.err.count("\n") == 1


def test_that_after_a_device_fault_the_process_is_left_without_destructors(command, monkeypatch):
    left = []
    monkeypatch.setattr(
        "engine.commands.listing.run_masks", _raise(DeviceFault("cuda:0", "illegal address", "Again."))
    )
    monkeypatch.setattr(engine.commands, "leave_at_once", left.append)
    answer = command("masks")
    assert (answer.status, answer.err, left) == (3, "cuda:0: illegal address. Again.\n", [3])
