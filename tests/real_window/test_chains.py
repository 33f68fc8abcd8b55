"""A chain is found, edited, run, kept in a session, and dropped in by its file; by keys, as a person does."""

import json

import pytest

pytestmark = pytest.mark.slow


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
    assert [step["operation"] for step in found] == ["", "", "combine"]
    program.press("ctrl+r")
    program.wait_for_rest()
    sections = program.session(tmp_path / "run.haloscope")
    assert "Sobel magnitude" in json.dumps(sections["result"])
    program.press("ctrl+z")
    program.wait_for_rest()
    assert steps(program, tmp_path / "after.haloscope") == before


def test_that_a_step_is_added_by_a_key_edited_and_removed(program, tmp_path):
    before = steps(program, tmp_path / "one.haloscope")
    program.press("ctrl+alt+a")
    program.wait_for_rest()
    found = steps(program, tmp_path / "two.haloscope")
    assert len(found) == 2
    program.command("Remove step")
    assert steps(program, tmp_path / "again.haloscope") == before
