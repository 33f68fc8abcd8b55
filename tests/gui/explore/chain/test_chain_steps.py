"""Steps of a chain: added, moved, removed, read; sessions keep them. No widgets."""

from dataclasses import replace

import pytest
from msgspec import structs

from engine.errors import EngineError
from engine.mask.presets import preset
from engine.work.chain_files import chain_from_json, chain_to_json, ready_chains
from gui.explore.chain.chain_actions import (
    added,
    combining,
    moved,
    new_step,
    reads_of,
    removed,
    split,
    why_not_moved,
    with_inputs,
)
from gui.explore.jobs import chain_of, state_of, written_chain
from gui.explore.session_file import encoded, load_session
from gui.explore.sessions import Session
from gui.explore.state import COMBINE, EditedStep, State


@pytest.fixture
def state():
    return State((EditedStep.of(preset("sobel-x")),))


def reads(state):
    return [reads_of(state, at) for at in range(len(state.steps))]


def test_that_each_ready_chain_comes_back_from_the_page_and_from_a_file_as_it_was(state):
    for chain in ready_chains():
        found = chain_of(state_of(chain, state), chain.range)
        nodes = [(node, {"written": ""} if hasattr(node.step, "mask") else {}) for node in chain.nodes()]
        plain = (node._replace(step=structs.replace(node.step, **fields)) for node, fields in nodes)
        assert found.nodes() == tuple(plain)
        there = state_of(chain, state)
        saved = chain_to_json(written_chain(there, chain.range))
        assert state_of(chain_from_json(saved), state) == there
    assert '"mask": "sobel-x"' in chain_to_json(written_chain(state, "clip"))


def test_that_steps_that_are_read_or_split_are_removed_and_moved_by_what_they_read(state):
    two = added(state, new_step(state.step, "median"))
    three = added(two, combining(two))
    assert reads(three) == [("picture",), ("s1",), ("s2", "picture")]
    assert reads(with_inputs(three, "s1", "s2"))[-1] == ("s1", "s2")
    three = with_inputs(added(two, combining(two)), "s1", "s2")
    gone = removed(replace(three, selected=0))
    assert reads(gone) == [("picture",), ("picture", "s2")]
    chain_of(gone)
    three = with_inputs(added(two, combining(two)), "s1", "s2")
    assert why_not_moved(three, -1) == "Step 3 reads step 2, so it stays after it."
    assert moved(three, -1) == three
    assert [step.id for step in moved(two, -1).steps] == ["s2", "s1"]
    two = added(state, replace(new_step(state.step, ""), on=False))
    assert removed(two) == state
    assert not removed(replace(two, selected=0)).is_chain
    two = added(state, combining(state))
    both = with_inputs(two, "s1", "s1")
    found = split(replace(both, selected=0), preset("sobel-y"), preset("sobel-x"))
    assert reads(found) == [("picture",), ("s1",), ("s3", "s3")]
    chain_of(found)
    with pytest.raises(EngineError, match="next step needs a picture"):
        chain_of(added(state.with_step(state.step.with_operation("histogram")), state.step))
    assert COMBINE not in {step.operation for step in state.steps}


def test_that_a_session_keeps_every_step_and_a_bad_one_is_said_and_nothing_else_lost(state, tmp_path):
    path = tmp_path / "a.haloscope"
    two = added(state, new_step(state.step, "median"))
    whole = with_inputs(added(replace(moved(two, -1), selected=1), combining(two)), "s1", "s2")
    whole = replace(whole.with_step(replace(whole.step, on=False)), title="Mine")
    path.write_bytes(encoded(Session(whole)))
    loaded = load_session(path)
    assert (loaded.state, loaded.left_out) == (whole, ())
    lines = encoded(Session(state)).decode().splitlines()
    for field, words in (
        ('"input": "later"', "it reads the picture now"),
        ('"second": 3', "left out"),
        ('"operation": "combine", "settings": {"parameters": {"how": "divide"}}', "left out"),
    ):
        bad = f'{{"section": "step", "selected": false, {field}}}'
        path.write_text("\n".join([*lines[:-1], bad, lines[-1], ""]), encoding="utf-8")
        loaded = load_session(path)
        assert words in " ".join(loaded.left_out)
        assert loaded.state.steps[0] == state.step
        chain_of(loaded.state)
