"""A chain is found, edited, run, kept in a session, and dropped in by its file; by keys, as a person does."""

import json

import pytest

pytestmark = pytest.mark.slow

FIRST_STEP, SECOND_STEP, FIRST_EYE = (200, 107), (200, 147), (92, 107)


@pytest.fixture(scope="module")
def arguments():
    """A sample that is there at once."""
    return ()


def steps(program, path):
    """Return the steps of the page, by way of a session."""
    program.session(path)
    sections = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [section for section in sections if section["section"] == "step"]


def test_that_a_ready_chain_is_found_run_and_taken_back(program, tmp_path):
    before = steps(program, tmp_path / "before.haloscope")
    program.command("Sobel magnitude")
    found = steps(program, tmp_path / "chain.haloscope")
    assert [step.get("operation", "") for step in found] == ["", "", "combine"]
    program.press("ctrl+r")
    program.wait_for_rest()
    sections = program.session(tmp_path / "run.haloscope")
    assert "Sobel magnitude" in json.dumps(sections["result"])
    program.press("ctrl+z")
    program.wait_for_rest()
    assert steps(program, tmp_path / "after.haloscope") == before


def test_that_a_row_is_dragged_below_another_one(program, tmp_path):
    program.command("Sobel magnitude")
    found = steps(program, tmp_path / "chain.haloscope")
    program.drag(FIRST_STEP, SECOND_STEP)
    program.wait_for_rest()
    first, second, *_ = steps(program, tmp_path / "dragged.haloscope")
    assert [second["id"], first["id"]] == [step["id"] for step in found[:2]]
    # The move, and the chain.
    program.press("ctrl+z", "ctrl+z")
    program.wait_for_rest()


def test_that_the_eye_of_a_row_that_was_clicked_switches_it(program, tmp_path):
    program.command("Sobel magnitude")
    program.click(*FIRST_STEP)
    program.click(*FIRST_EYE)
    program.wait_for_rest()
    first, *_ = steps(program, tmp_path / "off.haloscope")
    # The switch, and the chain.
    program.press("ctrl+z", "ctrl+z")
    program.wait_for_rest()
    assert first["on"] is False


def test_that_a_step_is_added_by_a_key_edited_and_removed(program, tmp_path):
    before = steps(program, tmp_path / "one.haloscope")
    program.press("ctrl+alt+a")
    program.wait_for_rest()
    found = steps(program, tmp_path / "two.haloscope")
    assert len(found) == 2
    program.command("Remove step")
    assert steps(program, tmp_path / "again.haloscope") == before
