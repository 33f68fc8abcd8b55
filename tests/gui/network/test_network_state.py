"""Bars, timeline and legend of the stages, and what a session keeps of the page."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QColor

from engine.results.text_forms import strict
from engine.tasks.network.problem import ChunkSpan, LayerTime
from gui.network.layers import Facts
from gui.network.network_state import NetworkState
from gui.network.stages_panel import TimelinePanel, timeline_words
from gui.style.theme import apply_theme
from gui.typed_json import Reading
from tests.gui.made_network import LAYERS, STAGES, checked_stages, made_digits, made_run, made_weights

KEYS = ("convolution-1", "convolution-2", "hidden", "output")
SPANS = (
    ChunkSpan(0, 0, "copy in", 0.0, 1.0),
    ChunkSpan(0, 0, "kernels", 1.0, 3.0),
    ChunkSpan(1, 1, "copy in", 1.0, 2.0),
    ChunkSpan(0, 0, "copy out", 3.0, 3.5),
    ChunkSpan(1, 1, "kernels", 3.0, 5.0),
    ChunkSpan(1, 1, "copy out", 5.0, 5.5),
)


@pytest.fixture
def network(qapp):
    network = NetworkState()
    pixels, labels = made_digits()
    weights = dict(zip(KEYS, made_weights(), strict=True))
    network.set_facts(Facts(LAYERS, STAGES, weights, pixels, labels))
    network.set_listed(checked_stages("simulator"))
    return network


def shown(qtbot, widget, width=400, height=240):
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    return widget


def test_that_a_timeline_tells_how_much_of_the_copies_is_hidden_behind_kernels():
    # Copies take 0-2, 3-3.5 and 5-5.5; kernels 1-5: of 3.0 ms 1.5 are at the same time.
    assert timeline_words(SPANS) == (
        "2 chunks on 2 streams in 5.50 ms: copies take 3.00 ms, 50.0 % of that while kernels run."
    )
    alone = timeline_words(SPANS[1:2])
    assert alone.startswith("1 chunk in 3.00 ms: with no other one there is nothing to copy while")


def test_that_the_timeline_of_the_newest_run_is_drawn_span_by_span(network, qtbot):
    panel = shown(qtbot, TimelinePanel(network))
    assert panel.stack.text
    network.add(made_run("network-serial"))
    assert panel.stack.text, "a stage without streams has none"
    run = made_run("network-fused")
    network.add(type(run)(run.result, run.layers, SPANS))
    assert not panel.stack.text
    panel.grab()
    drawn = {bar.words.partition(":")[0]: rect for rect, bar in panel.chart.drawn}
    assert len(drawn) == len(SPANS)
    first, last = drawn["Chunk 0, stream 0, copy in"], drawn["Chunk 1, stream 1, copy out"]
    kernels = drawn["Chunk 0, stream 0, kernels"]
    assert first.left() < kernels.left() < last.left()
    assert kernels.width() == pytest.approx(2 * first.width())
    assert first.top() < last.top(), "each stream has its row"
    assert panel.chart.accessibleDescription() == panel.sentence.text() == timeline_words(SPANS)


def test_that_parts_of_a_bar_are_as_long_as_their_times(network):
    run = made_run("network-cpu")
    layers = (LayerTime("convolution-1 + pool-1", 1.0), LayerTime("hidden", 3.0), LayerTime("copy in", 4.0))
    network.add(type(run)(run.result, layers))
    parts = network.parts_of(run.result)
    assert [(part.begin, part.end) for part in parts] == [(0.0, 0.125), (0.125, 0.5), (0.5, 1.0)]
    colours = {entry.text: entry.colour for entry in network.legend()}
    assert (parts[0].colour, parts[0].stripe) == (colours["Convolution 1"], colours["Average pool 1"])
    assert not parts[1].stripe


def test_that_the_legend_tells_every_colour_from_the_others(network, qapp, light_again):
    assert not network.legend()
    run = made_run("network-fused")
    parts = tuple(LayerTime(name, 1.0) for name in ("copy in", "kernels", "copy out"))
    network.add(type(run)(run.result, parts))
    texts = [entry.text for entry in network.legend()]
    assert texts == [*(layer.title for layer in LAYERS), "copy in", "kernels", "copy out"]
    for theme in ("dark", "light"):
        apply_theme(qapp, theme)
        hues = [QColor(one.colour) for one in network.legend()[:-1]]
        for at, one in enumerate(hues):
            for other in hues[at + 1 :]:
                far = sum(abs(a - b) for a, b in zip(one.getRgb(), other.getRgb(), strict=True))
                assert far >= 60, (theme, one.name(), other.name())


@pytest.fixture
def kept_network(qapp):
    network = NetworkState()
    network.change(stage="network-fused", batch=7, device="cpu")
    network.drawing.dot((9.5, 4.5))
    return network


def brought(network, part):
    """Show a part; returns what it left out."""
    reading = Reading()
    change = network.take_own_part(part, reading)
    if change is not None:
        change()
    return list(reading.notes)


def test_that_drawing_and_settings_come_back_through_json(kept_network):
    network = kept_network
    part = json.loads(json.dumps(network.own_part()))
    other = NetworkState()
    assert brought(other, part) == []
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
def test_that_a_wrong_value_is_left_out_and_said_and_the_rest_is_shown(kept_network, change):
    network, (name,) = kept_network, change
    before = {"batch": 7, "stage": "network-fused"}
    part = {**NetworkState().own_part(), "batch": 3, "stage": "network-cpu", "device": "auto", **change}
    (said,) = brought(network, part)
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
