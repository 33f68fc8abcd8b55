"""What a session keeps of the page Network, and what is wrong with a part that somebody changed."""

import json

import numpy as np
import pytest

from engine.errors import BadValue
from gui.network.network_state import NetworkState
from gui.network.session_part import part_of, show_part


@pytest.fixture
def network(qapp):
    network = NetworkState()
    network.change(stage="network-fused", batch=7, device="cpu")
    network.drawing.dot((9.5, 4.5))
    return network


def test_that_drawing_and_settings_come_back_through_json_as_one_step(network):
    part = json.loads(json.dumps(part_of(network)))
    other = NetworkState()
    assert show_part(other, part) == ""
    assert other.settings == network.settings
    np.testing.assert_array_equal(other.drawing.ink, network.drawing.ink)
    assert other.drawing.undo_stack.undoText() == "Open session"
    other.drawing.undo_stack.undo()
    assert other.drawing.is_empty


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"batch": 0}, '"batch" is not a whole number'),
        ({"batch": True}, '"batch" is not a whole number'),
        ({"batch": "7"}, '"batch" is not a whole number'),
        ({"ink": "00"}, '"ink" is not 28 × 28 cells'),
        ({"ink": "not hexadecimal"}, '"ink" is not 28 × 28 cells'),
        ({"stage": None}, '"stage" is not text'),
        ({"weights": "a\0b"}, '"weights" is not text'),
    ],
)
def test_that_a_wrong_value_is_named_and_changes_nothing(network, change, says):
    before, ink = network.settings, network.drawing.ink.copy()
    with pytest.raises(BadValue, match=says):
        show_part(network, {**part_of(NetworkState()), "batch": 3, **change})
    assert network.settings == before
    np.testing.assert_array_equal(network.drawing.ink, ink)
