"""Exit statuses and streams: as a shell sees them once each, everything else in this process."""

import os
import resource
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.commands import COMMANDS
from engine.errors import EngineError
from engine.image.samples import sample_path
from tests.engine.commands.conftest import LOST, raising
from tests.fresh_python import fresh_python


def test_that_a_finished_command_has_status_0_and_prints_one_json_document(program, tmp_path):
    out = tmp_path / "out.png"
    answer = program("filter", sample_path("impulse"), out, "--mask sobel-x --json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.document["operation"] == "correlation"
    assert out.stat().st_size > 0


@pytest.mark.slow
def test_that_bad_input_has_status_2_and_one_line(program, tmp_path):
    answer = program("filter nowhere.png", tmp_path / "out.png", "--mask box-3 --json")
    line = "nowhere.png cannot be opened: there is no such file. Check the name and the folder.\n"
    assert (answer.status, answer.out, answer.err) == (2, "", line)


def test_that_a_reader_who_leaves_early_is_no_error(program):
    reader, writer = os.pipe()
    os.close(reader)
    answer = program("masks", stdout=writer)
    os.close(writer)
    assert (answer.status, answer.err) == (141, "")


@pytest.mark.slow
def test_that_commands_load_no_qt_and_importing_them_loads_nearly_nothing():
    code = (
        "import sys; import engine.commands as c; heavy = {'numba', 'numpy', 'argparse'} & set(sys.modules);"
        "status = c.main(['variants']); qt = {'PySide6', 'gui', 'pyqtgraph'} & set(sys.modules);"
        "sys.stderr.write(f'{sorted(heavy)} {sorted(qt)} {status}')"
    )
    assert fresh_python("-c", code).endswith("\n[] [] 0")


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
        ("", "there is no such command ... filter, batch, bench"),
        ("sharpen", "'sharpen' ... there is no such command ... filter, batch, bench"),
        ("masks --jsn", "unrecognized arguments: --jsn ... `python main.py masks --help`"),
        ("variants tiled", "unrecognized arguments: tiled"),
        ("bench", "required: --out ... --help"),
    ],
)
def test_that_bad_use_is_refused_in_one_line(refused, arguments, says):
    refused(arguments, says=says)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyboardInterrupt(), 130, "Stopped.\n"),
        (KeyboardInterrupt("Stopped: 2 of 3 cells done."), 130, "Stopped: 2 of 3 cells done.\n"),
        (MemoryError(), 2, "Not enough memory: the system gave no more. Use a smaller picture.\n"),
        (EngineError("a", "b", "c"), 2, "a: b. c\n"),
        (ZeroDivisionError("by\nzero"), 1, "Unexpected error: ZeroDivisionError: by zero. "),
        (LOST, 3, "cuda:0: illegal address. Start again.\n"),
    ],
    ids=repr,
)
def test_that_every_end_is_one_line(command, monkeypatch, left, error, status, line):
    monkeypatch.setattr("engine.commands.listing.run_masks", raising(error))
    answer = command("masks")
    assert (answer.status, answer.out) == (status, "")
    assert answer.err.startswith(line)
    assert answer.err.count("\n") == 1
    # After a device fault destructors raise or hang.
    assert left == ([3] if error is LOST else [])


@pytest.fixture
def filtered(program, tmp_path):
    """Return a function that filters a picture in a process of its own and checks the result."""
    pixels = np.arange(48 * 40, dtype=np.uint8).reshape(48, 40) % 251
    engine.save_image(pixels, tmp_path / "in.png")
    shifted = np.pad(pixels[:, 1:], ((0, 0), (0, 1)))

    def do(cache, before=None):
        arguments = (
            "filter",
            tmp_path / "in.png",
            tmp_path / "out.png",
            "--mask '[[0,0,1]]' --variant cpu-serial",
        )
        answer = program(*arguments, NUMBA_CACHE_DIR=str(cache), before=before)
        assert answer.status == 0, answer
        assert np.array_equal(engine.open_image(tmp_path / "out.png").pixels, shifted)
        return answer.err

    return do


@pytest.mark.slow
def test_that_a_full_cache_disk_stops_nothing_and_is_named_in_one_line(filtered, tmp_path):
    def small_disk():
        # The compiled filter takes 27 kB, the result 200 bytes.
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    (line,) = filtered(tmp_path / "cache", small_disk).splitlines()
    assert line.startswith(f"note: Compiled code cannot be kept in {tmp_path / 'cache'}")


@pytest.mark.slow
def test_that_damaged_compiled_code_is_replaced_without_a_word(filtered, tmp_path):
    cache: Path = tmp_path / "cache"
    assert filtered(cache) == ""
    good = {path: path.read_bytes() for path in sorted(cache.glob("*/*"))}
    assert good
    for number, (path, content) in enumerate(good.items()):
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :]
        path.write_bytes((flipped, content[:middle], b"")[number % 3])
    assert filtered(cache) == ""
    assert all(path.stat().st_size == len(content) for path, content in good.items())
