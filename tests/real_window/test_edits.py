"""Each setting is changed and taken back by Ctrl+Z; runs become rows, which are kept, restored and saved."""

import json

import pytest

from tests.real_window.conftest import PLACES

pytestmark = pytest.mark.slow

SHARPEN = [[0, -1, 0], [-1, 5, -1], [0, -1, 0]]


@pytest.fixture(scope="module", autouse=True)
def _results(running):
    """A result, which no undo takes back: so there is always work that is kept, and read."""
    running.press("ctrl+r")
    running.wait_for_rest()


@pytest.fixture
def read(program):
    """A function that returns the step of a session: mask, operation, settings; nothing is left to undo."""
    yield lambda: program.session()["step"]
    program.press(*["ctrl+z"] * 6)
    program.wait_for_rest()


def test_that_flip_and_border_are_taken_back_before_the_mask(program, read):
    program.click_on("first cell")
    program.enter("3")
    program.choose("border", "Down")
    program.click_on("flip")
    program.wait_for_rest()
    edited = read()
    assert edited["mask"]["weights"][0][0] == 3
    assert edited["settings"]["flip"]
    assert edited["settings"]["border"] != "zero"
    program.press("ctrl+z", "ctrl+z")
    undone = read()
    assert undone["mask"] == edited["mask"]
    assert (undone["settings"]["flip"], undone["settings"]["border"]) == (False, "zero")
    program.press("ctrl+y", "ctrl+y")
    assert read() == edited


def test_that_the_wheel_over_a_control_without_the_focus_changes_nothing(program, read):
    program.click_on("picture")
    before = read()
    for place in ("border", "device", "rows", "operation", "presets"):
        program.click(*PLACES[place], times=3, button=5)
    program.wait_for_rest()
    assert read() == before


def test_that_a_fraction_is_kept_as_it_was_typed_and_a_generator_is_taken(program, read):
    program.click_on("first cell")
    program.enter("1/9")
    assert read()["mask"]["weights"][0][0] == "1/9"
    program.write_mask("gaussian:5:1.5")
    weights = read()["mask"]["weights"]
    program.write_mask("1 2 1; 2 4 2; 1 2 1 /16")
    mask = read()["mask"]
    assert (mask["weights"][1], mask["divisor"]) == ([2, 4, 2], 16)
    assert len(weights) == len(weights[0]) == 5
    assert weights[0][0] < weights[2][2]


def test_that_numbers_of_a_generator_are_one_step_that_escape_takes_back(program, read):
    program.press("ctrl+alt+g")
    program.wait_for_rest()
    # From the list of generators to the rows.
    program.press("Tab", "5", "Return")
    program.wait_for_rest()
    program.press("Escape")
    program.wait_for_rest()
    assert read()["mask"]["weights"] == SHARPEN
    program.press("ctrl+shift+z")
    assert len(read()["mask"]["weights"]) == 5
    program.press("ctrl+z")
    assert read()["mask"]["weights"] == SHARPEN


def test_that_a_painted_row_is_one_step(program, read):
    program.click_on("brush")
    program.drag(PLACES["first cell"], PLACES["last cell of the first row"])
    program.press("Escape")
    program.wait_for_rest()
    first = read()["mask"]["weights"][0]
    assert first != SHARPEN[0]
    assert len(set(first)) == 1
    program.press("ctrl+z")
    assert read()["mask"]["weights"] == SHARPEN


def test_that_typed_rows_are_taken_back(program, read):
    program.click_on("rows", times=2)
    program.enter("5")
    assert len(read()["mask"]["weights"]) == 5
    program.press("ctrl+z")
    assert read()["mask"]["weights"] == SHARPEN


def test_that_the_kernel_and_the_operation_are_taken_back(program, read):
    program.click_on("CPU, one thread")
    program.wait_for_rest()
    assert read()["settings"]["variant"] == "cpu-serial"
    program.press("ctrl+z")
    assert read()["settings"]["variant"] == "auto"
    program.choose("operation", *"noise")
    assert read()["operation"] == "median"
    program.press("ctrl+z")
    assert read().get("operation", "") == ""


def test_that_a_block_and_the_device_are_taken_back(program, read):
    program.simulate()
    assert read()["settings"]["device"] == "simulator"
    program.press("alt+b")
    program.wait_for_rest()
    program.type("8\t")
    program.type("4\t")
    program.wait_for_rest()
    assert read()["settings"]["block"] == [8, 4]
    program.press("ctrl+z", "ctrl+z")
    assert read()["settings"]["block"] is None
    program.press("ctrl+z")
    assert read()["settings"]["device"] == "auto"


def test_that_a_line_of_the_history_goes_there_and_end_comes_back(program, read):
    program.click_on("first cell")
    program.enter("3")
    program.write_mask("1 2 3")
    program.command("panel history")
    program.click_on("history")
    program.wait_for_rest()
    assert read()["mask"]["weights"] == SHARPEN
    program.click_on("history")
    program.press("End")
    program.wait_for_rest()
    assert read()["mask"]["weights"] == [[1, 2, 3]]
    program.command("panel mask")


def test_that_a_mask_is_saved_and_opened(program, read):
    program.write_mask("1 2 3; 4 5 6")
    path = program.new_file(".json")
    program.press("ctrl+shift+m")
    program.answer("Save", path)
    program.wait_until(path.exists, "the saved mask")
    program.press("ctrl+z", "ctrl+m")
    program.answer("Open", path)
    program.wait_for_rest()
    assert read()["mask"]["weights"] == [[1, 2, 3], [4, 5, 6]]


def test_that_text_that_is_no_mask_is_refused_and_the_mask_stays(program, read):
    program.press("ctrl+alt+x")
    program.wait_for_dialog("Mask as text")
    program.type("1 2; 3")
    program.press("Tab", "Return")
    program.wait_for_rest()
    if program.screen.focused.startswith("Mask as text"):
        program.press("Escape")
    program.wait_for_turn()
    assert read()["mask"]["weights"] == SHARPEN


@pytest.mark.usefixtures("read")
def test_that_the_rows_of_every_kernel_are_saved(program):
    program.press("ctrl+shift+Delete", "ctrl+shift+r")
    program.wait_for_rest()
    found = program.rows()
    assert len({row["variant"] for row in found}) == len(found) > 2
    assert all(row["status"].startswith("verified") for row in found)


@pytest.mark.usefixtures("read")
def test_that_a_typed_cell_goes_through_undo_or_redo(program):
    before = program.weights()
    program.click_on("first cell")
    program.enter("3")
    edited = program.weights()
    assert [edited[0][0], *edited[0][1:], *edited[1:]] == [3, *before[0][1:], *before[1:]]
    program.press("ctrl+z")
    assert program.weights() == before
    program.press("ctrl+y")
    assert program.weights() == edited


@pytest.mark.usefixtures("read")
def test_that_masks_are_found_in_the_library(program):
    seen = [program.weights()]
    for word in ("box 5", "sobel y"):
        program.click_on("presets")
        program.wait_for_rest()
        program.type(word)
        program.press("Return")
        # The list has the keys until it has closed.
        program.wait_for_turn()
        program.wait_for_rest()
        seen.append(program.weights())
    assert [len(mask) for mask in seen] == [3, 5, 3]
    assert seen[2] == [[-1, -2, -1], [0, 0, 0], [1, 2, 1]]


def results_of(program):
    """Return the results of the rows, by way of the session."""
    return [section["result"] for section in program.sections() if section["section"] == "result"]


@pytest.fixture
def ran(program):
    """The program with the rows of two runs, and the results of these."""
    program.press("ctrl+shift+Delete")
    program.wait_for_rest()
    for _ in range(2):
        program.press("ctrl+r")
        program.wait_for_rest()
    found = results_of(program)
    assert len(found) == 2
    return found


def test_that_runs_are_verified_rows_which_undo_brings_back_after_clear_and_delete(program, ran):
    assert all(row["status"].startswith("verified") for row in program.rows())
    program.press("ctrl+shift+Delete")
    program.wait_for_rest()
    program.press("ctrl+z")
    assert results_of(program) == ran
    program.click_on("first run")
    program.press("Delete")
    program.wait_for_rest()
    assert len(results_of(program)) == 1
    program.press("ctrl+z")
    assert results_of(program) == ran


def test_that_a_double_click_restores_the_settings_of_a_run(program, ran):
    before = program.session()["step"]
    program.choose("border", "Down")
    program.write_mask("1 2 3")
    program.click_on("first run", times=2)
    program.wait_for_rest()
    restored = program.session()["step"]
    assert restored["mask"]["weights"] == before["mask"]["weights"]
    assert restored["settings"] == before["settings"]


def test_that_the_menu_of_a_row_makes_it_the_baseline(program, ran):
    program.click(*PLACES["first run"], button=3)
    program.wait_for_rest()
    program.press("Down", "Return")
    program.wait_for_rest()
    settings = program.session()["step"]["settings"]
    assert settings["baseline"] == ran[-1]["variant"] != "cpu-serial"
    program.press("ctrl+z")


def test_that_rows_are_saved_as_json_and_that_a_session_brings_them(program, ran):
    path = program.new_file(".json")
    program.press("ctrl+e")
    program.answer("Save", path)
    program.wait_until(path.exists, "the saved rows")
    assert ran[0]["variant"] in json.dumps(json.loads(path.read_text(encoding="utf-8")))
    before, path = program.rows(), program.save_session()
    program.press("ctrl+shift+Delete", "ctrl+shift+o")
    program.answer("Open", path)
    program.wait_for_rest()
    kept = ("variant", "status", "kernel_median_ms")
    again = program.rows()
    assert [[row.get(key) for key in kept] for row in again] == [
        [row.get(key) for key in kept] for row in before
    ]


def test_that_recorded_rows_come_and_go_and_the_simulator_runs_until_escape(program, ran):
    before = program.screen.checksum()
    program.press("ctrl+g")
    program.wait_until(lambda: program.screen.checksum() != before, "the recorded rows")
    program.wait_for_rest()
    program.press("ctrl+g")
    program.wait_for_rest()
    assert results_of(program) == ran
    program.simulate()
    program.press("ctrl+r")
    program.wait_for_rest()
    rows = program.rows()
    assert len(rows) == len(ran) + 1
    assert rows[-1]["status"].startswith("verified")
    program.press("ctrl+shift+r")
    program.wait_until(lambda: not program.is_idle, "the run of every kernel")
    program.press("Escape")
    program.wait_for_rest()
    assert len(results_of(program)) < len(rows) + 25
    program.press("ctrl+z")
