"""What a session keeps of the page Network, and what is wrong with a part that somebody changed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from engine.results.text_forms import strict
from gui.network.network_state import NetworkState
from gui.typed_json import Reading
from tests.gui.made_network import made_run


@pytest.fixture
def network(qapp):
    network = NetworkState()
    network.change(stage="network-fused", batch=7, device="cpu")
    network.drawing.dot((9.5, 4.5))
    return network


def shown(network, part):
    """Show a part; returns what it left out."""
    reading = Reading()
    change = network.take_own_part(part, reading)
    if change is not None:
        change()
    return list(reading.notes)


def test_that_drawing_and_settings_come_back_through_json(network):
    part = json.loads(json.dumps(network.own_part()))
    other = NetworkState()
    assert shown(other, part) == []
    assert other.settings == network.settings
    np.testing.assert_array_equal(other.drawing.ink, network.drawing.ink)
    assert other.undo_stack.undoText() == "Open session"
    other.undo_stack.undo()
    assert other.drawing.is_empty


@pytest.mark.parametrize(
    "change",
    [
        {"batch": 0}, {"batch": True}, {"batch": "7"}, {"ink": "00"}, {"ink": "not hexadecimal"},
        {"stage": None}, {"weights": "/tmp/other.npz"}, {"brush": "wide"},
    ],
    ids=str,
)  # fmt: skip
def test_that_a_wrong_value_is_left_out_and_said_and_the_rest_is_shown(network, change):
    (name,) = change
    before = {"batch": 7, "stage": "network-fused"}
    part = {**NetworkState().own_part(), "batch": 3, "stage": "network-cpu", "device": "auto", **change}
    (said,) = shown(network, part)
    assert f'"{name}"' in said
    expected = {"batch": 3, "stage": "network-cpu"} | {key: before[key] for key in before if key == name}
    assert {key: getattr(network.settings, key) for key in expected} == expected
    assert network.settings.device == "auto"
    assert network.drawing.is_empty == (name != "ink")


def test_that_runs_of_every_batch_come_back_through_json(open_window, qtbot):
    haloscope = open_window()
    haloscope.window.show_page("network")
    qtbot.waitUntil(lambda: haloscope.network.facts is not None and bool(haloscope.network.results()))
    page, network = haloscope.window.page, haloscope.network
    network.add(made_run("network-serial"))
    network.change(batch=7, device="simulator")
    network.add(made_run("network-fused", 7))
    kept = [(run.problem, run.whole) for run in network.task_runs]
    part = json.loads(json.dumps(strict(page.session_part), allow_nan=False))
    network.change(batch=8)
    network.add(made_run("network-cpu", 8))
    page.take_session_part(part)
    assert [(run.problem, run.whole) for run in network.task_runs] == kept
    assert network.settings == replace(network.settings, batch=7, device="simulator")
    page.undo_stack.undo()
    assert [run.result.variant for run in network.kept] == [
        "network-serial", "network-fused", "network-cpu",
    ]  # fmt: skip
