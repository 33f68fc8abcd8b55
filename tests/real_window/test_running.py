"""Runs become rows, which are kept, taken away, brought back, restored, saved."""

import json

import pytest
from PIL import Image

from tests.real_window.conftest import PLACES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    """A picture that the simulator takes."""
    path = tmp_path_factory.mktemp("pictures") / "small.png"
    Image.radial_gradient("L").resize((64, 64)).save(path)
    return (path,)


@pytest.fixture
def ran(program, tmp_path):
    """The program with the rows of two runs, and these rows."""
    program.press("ctrl+shift+Delete")
    program.wait_for_rest()
    for _ in range(2):
        program.press("ctrl+r")
        program.wait_for_rest()
    rows = program.rows(tmp_path / "ran.csv")
    assert len(rows) == 2
    return rows


def right_part(program):
    """Return the pixels of the result."""
    x, y = PLACES["picture"]
    return program.screen.pixels()[y : y + 100, x : x + 100]


def test_that_a_run_is_a_verified_row(ran):
    assert all(row["status"].startswith("verified") for row in ran)


def test_that_cleared_rows_come_back_with_undo(program, ran, tmp_path):
    program.press("ctrl+shift+Delete")
    program.wait_for_rest()
    program.press("ctrl+z")
    program.wait_for_rest()
    assert program.rows(tmp_path / "again.csv") == ran


def test_that_a_deleted_row_comes_back_with_undo(program, ran, tmp_path):
    program.click_on("first run")
    program.press("Delete")
    program.wait_for_rest()
    assert len(program.rows(tmp_path / "one.csv")) == 1
    program.press("ctrl+z")
    program.wait_for_rest()
    assert program.rows(tmp_path / "again.csv") == ran


def test_that_a_double_click_restores_the_settings_of_a_run(program, ran, tmp_path):
    before = program.session(tmp_path / "before.haloscope")["step"]
    program.choose("border", "Down")
    program.write_mask("1 2 3")
    program.click_on("first run", times=2)
    program.wait_for_rest()
    restored = program.session(tmp_path / "restored.haloscope")["step"]
    assert restored["mask"]["weights"] == before["mask"]["weights"]
    assert restored["settings"] == before["settings"]


def test_that_the_menu_of_a_row_makes_it_the_baseline(program, ran, tmp_path):
    program.click(*PLACES["first run"], button=3)
    program.wait_for_rest()
    program.press("Down", "Return")
    program.wait_for_rest()
    settings = program.session(tmp_path / "baseline.haloscope")["step"]["settings"]
    assert settings["baseline"] == ran[-1]["variant"] != "cpu-serial"
    program.press("ctrl+z")


def test_that_a_session_brings_the_rows(program, ran, tmp_path):
    path = tmp_path / "ran.haloscope"
    program.session(path)
    program.press("ctrl+shift+Delete", "ctrl+shift+o")
    program.answer("Open", path)
    program.wait_for_rest()
    kept = ("variant", "status", "kernel_median_ms")
    again = program.rows(tmp_path / "again.csv")
    assert [[row.get(key) for key in kept] for row in again] == [
        [row.get(key) for key in kept] for row in ran
    ]


def test_that_rows_are_saved_as_json(program, ran, tmp_path):
    path = tmp_path / "rows.json"
    program.press("ctrl+e")
    program.answer("Save", path)
    program.wait_until(path.exists, "the saved rows")
    assert ran[0]["variant"] in json.dumps(json.loads(path.read_text(encoding="utf-8")))


def test_that_recorded_rows_come_and_go(program, ran, tmp_path):
    before = program.screen.checksum()
    program.press("ctrl+g")
    program.wait_until(lambda: program.screen.checksum() != before, "the recorded rows")
    program.wait_for_rest()
    program.press("ctrl+g")
    program.wait_for_rest()
    assert program.rows(tmp_path / "again.csv") == ran


def test_that_the_simulator_runs_until_escape(program, ran, tmp_path):
    program.simulate()
    program.press("ctrl+r")
    program.wait_for_rest()
    rows = program.rows(tmp_path / "simulated.csv")
    assert len(rows) == len(ran) + 1
    assert rows[-1]["status"].startswith("verified")
    program.press("ctrl+shift+r")
    program.wait_until(lambda: not program.is_idle, "the run of every kernel")
    program.press("Escape")
    program.wait_for_rest()
    assert len(program.rows(tmp_path / "stopped.csv")) < len(rows) + 25
    program.press("ctrl+z")
