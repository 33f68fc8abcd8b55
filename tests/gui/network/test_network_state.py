"""State of the page Network and what runs it, around a fake engine; bars, timeline and legend of stages."""

import json
from itertools import combinations

import numpy as np
import pytest
from PySide6.QtGui import QColor

from engine.errors import BadValue, EngineError
from engine.host.request import Check, Preview, Run
from engine.tasks.network.problem import ChunkSpan, DrawingRequest, LayerTime, NetworkRequest, StageRequest
from gui.network.layers import LayerCell
from gui.network.network_state import NetworkState
from gui.network.page import FIRST_DIGIT, NO_INK, NetworkPage
from gui.network.stages_panel import TimelinePanel, timeline_words
from gui.style.theme import apply_theme
from gui.typed_json import Reading
from tests.gui.made_network import (
    LAYERS,
    checked_stages,
    made_digits,
    made_facts,
    made_run,
    made_values,
    made_weights,
)
from tests.gui.made_window import page_on

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
    network.set_facts(made_facts())
    network.set_listed(checked_stages("simulator"))
    return network


def test_that_the_timeline_of_the_newest_run_is_drawn_span_by_span_and_said_in_words(network, show_widget):
    # Copies take 0-2, 3-3.5 and 5-5.5; kernels 1-5: of 3.0 ms 1.5 are at the same time.
    assert timeline_words(SPANS) == (
        "2 chunks on 2 streams in 5.50 ms: copies take 3.00 ms, 50.0 % of that while kernels run."
    )
    panel = show_widget(TimelinePanel(network), 400, 240)
    network.add(made_run("network-serial"))
    assert panel.stack.text, "a stage without streams has none"
    run = made_run("network-fused")
    network.add(type(run)(run.result, run.layers, SPANS))
    assert not panel.stack.text
    panel.grab()
    drawn = {bar.words.partition(":")[0]: rect for rect, bar in panel.chart.drawn}
    first, last = drawn["Chunk 0, stream 0, copy in"], drawn["Chunk 1, stream 1, copy out"]
    assert drawn["Chunk 0, stream 0, kernels"].width() == pytest.approx(2 * first.width())
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


def test_that_the_legend_tells_every_colour_from_the_others(light_again, network, qapp):
    assert not network.legend()
    run = made_run("network-fused")
    parts = tuple(LayerTime(name, 1.0) for name in ("copy in", "kernels", "copy out"))
    network.add(type(run)(run.result, parts))
    assert len(network.legend()) == len(LAYERS) + len(parts)
    for theme in ("dark", "light"):
        apply_theme(qapp, theme)
        for one, other in combinations((QColor(entry.colour) for entry in network.legend()[:-1]), 2):
            far = sum(abs(a - b) for a, b in zip(one.getRgb(), other.getRgb(), strict=True))
            assert far >= 60, (theme, one.name(), other.name())


def brought(network, part):
    """Show a part; returns what it left out."""
    reading = Reading()
    if (change := network.take_own_part(part, reading)) is not None:
        change()
    return list(reading.notes)


WRONG = (
    ("batch", 0), ("batch", True), ("batch", "7"), ("ink", "00"), ("ink", "not hexadecimal"),
    ("stage", None), ("weights", "/tmp/other.npz"), ("brush", "wide"),
)  # fmt: skip


def test_that_drawing_and_settings_come_back_through_json_but_for_a_wrong_value_which_is_said(qapp):
    network, other = NetworkState(), NetworkState()
    network.change(stage="network-fused", batch=7, device="cpu")
    network.drawing.dot((9.5, 4.5))
    part = json.loads(json.dumps(network.own_part()))
    assert brought(other, part) == []
    assert other.settings == network.settings
    np.testing.assert_array_equal(other.drawing.ink, network.drawing.ink)
    assert other.undo_stack.undoText() == "Open session"
    other.undo_stack.undo()
    assert other.drawing.is_empty
    before = {"batch": 7, "stage": "network-fused"}
    for name, value in WRONG:
        network.change(**before)
        network.drawing.dot((9.5, 4.5))
        part = NetworkState().own_part() | {"batch": 3, "stage": "network-cpu", "device": "auto"}
        part[name] = value
        (said,) = brought(network, part)
        assert f'"{name}"' in said
        expected = {"batch": 3, "stage": "network-cpu"} | {key: before[key] for key in before if key == name}
        assert {key: getattr(network.settings, key) for key in expected} == expected
        assert network.settings.device == "auto"
        assert network.drawing.is_empty == (name != "ink")


@pytest.fixture
def slow(make_bench, qtbot):
    bench = page_on(make_bench(automatic=False), NetworkPage, qtbot)
    bench.network = bench.page.network
    return bench


@pytest.fixture
def bench(slow):
    slow.fake.automatic = True
    slow.page.shown.emit()
    slow.settle()
    return slow


def draw(bench, point=(10.5, 10.5)):
    bench.network.drawing.dot(point)
    bench.settle()


def test_that_all_is_asked_when_the_page_is_first_shown(slow):
    # That of a session is known as such once the digits are.
    slow.network.drawing.show_ink(made_digits()[0][3], None, "Open session")
    slow.settle()
    assert slow.fake.seen == []
    slow.fake.automatic = True
    slow.page.shown.emit()
    slow.settle()
    kinds = NetworkRequest, (Check, StageRequest), (Preview, DrawingRequest)
    assert [len(slow.asked(kind)) for kind in kinds] == [1, 1, 1]
    facts = slow.network.facts
    assert np.array_equal(facts.weights["convolution-2"], made_weights()[1])
    assert (slow.network.answer.digit, slow.network.drawing.digit) == (7, 3)
    slow.page.shown.emit()
    slow.settle()
    assert len(slow.jobs_asked(NetworkRequest)) == 1


def test_that_a_page_begins_with_a_digit_and_gives_back_the_memory_of_what_the_engine_sent(bench):
    assert bench.network.drawing.digit == FIRST_DIGIT
    assert bench.network.answer is not None
    assert bench.network.drawing.undo_stack.count() == 0
    draw(bench)
    ink = bench.network.drawing.seen.tobytes()
    for found, expected in zip(bench.network.answer.values, made_values(ink), strict=True):
        assert np.array_equal(found, expected)
    assert bench.fake.leaked == set()


def test_that_only_the_newest_drawing_follows_the_one_on_its_way(slow):
    slow.page.shown.emit()
    for column in range(5, 12):
        draw(slow, (column, 10.5))
    assert len(slow.fake.waiting((Preview, DrawingRequest))) == 1
    slow.answer((Preview, DrawingRequest))
    (newest,) = slow.fake.waiting((Preview, DrawingRequest))
    assert newest.request.job.ink == slow.network.drawing.seen.tobytes()
    slow.answer((Preview, DrawingRequest))
    assert slow.fake.waiting((Preview, DrawingRequest)) == []
    assert slow.network.answer is not None


def test_that_a_value_comes_from_the_drawing_that_was_recognised_while_another_is_on_its_way(slow):
    draw(slow)
    ink = slow.network.drawing.seen
    slow.page.shown.emit()
    for kind in (NetworkRequest, (Preview, DrawingRequest)):
        slow.answer(kind)
    slow.network.point(LayerCell(0, 0, 8, 8))
    draw(slow, (9.5, 9.5))
    assert not np.array_equal(slow.network.drawing.seen, ink)
    window = ink[8:13, 8:13] / np.float32(255.0)
    assert np.array_equal(slow.network.shown_origin.values, window)


def test_that_an_answer_to_a_drawing_that_was_cleared_is_not_shown_and_a_refusal_stands_in_its_place(slow):
    slow.page.shown.emit()
    draw(slow)
    slow.network.drawing.clear()
    slow.settle()
    slow.answer((Preview, DrawingRequest))
    assert (slow.network.answer, slow.network.why_no_answer) == (None, NO_INK)
    assert slow.fake.leaked == set()
    draw(slow)
    error = BadValue("the drawing is empty", "there is no ink in it", "Draw a digit from 0 to 9 first.")
    slow.fail(error, (Preview, DrawingRequest))
    assert slow.network.why_no_answer == str(error)
    assert slow.messages.count == 0


def test_that_a_lost_engine_is_asked_again_by_itself(slow):
    slow.page.shown.emit()
    draw(slow)
    slow.lose()
    assert slow.network.answer is None
    slow.fake.automatic = True
    slow.become_ready()
    assert None not in (slow.network.facts, slow.network.answer)
    assert slow.network.results() != ()


def test_that_run_takes_the_chosen_stage_or_every_one_that_can(bench, qtbot):
    bench.network.change(stage="network-cpu", batch=10)
    bench.settle()
    with qtbot.waitSignal(bench.jobs.finished):
        bench.page.run()
    assert [(one.stage, one.batch) for one in bench.jobs_asked((Run, StageRequest))] == [("network-cpu", 10)]
    with qtbot.waitSignal(bench.jobs.finished):
        bench.page.run_all()
    both = ["network-serial", "network-cpu"]
    assert [one.stage for one in bench.jobs_asked((Run, StageRequest))[1:]] == both
    assert [variant for variant, _block in bench.network.runs] == both, "the newest last"
    assert not bench.network.running
    runs = bench.network.runs
    bench.network.change(batch=11)
    assert bench.network.runs == {}
    bench.network.change(batch=10)
    assert bench.network.runs == runs, "of a batch that is chosen again they are still known"
    bench.network.change(device="simulator")
    bench.settle()
    with qtbot.waitSignal(bench.jobs.finished):
        bench.page.run_all()
    requests = [(one.stage, one.device) for one in bench.jobs_asked((Run, StageRequest))[3:]]
    assert requests == [*((one, "auto") for one in both), ("network-fused", "simulator")]


def test_that_the_next_stage_runs_after_one_that_fails(slow):
    slow.page.shown.emit()
    slow.answer(NetworkRequest)
    slow.page.run_all()
    slow.answer_all((Check, StageRequest))
    slow.fail(EngineError("The batch", "the memory is full", "Choose a smaller one."), (Run, StageRequest))
    row = slow.network.results()[0]
    assert row.status == "The batch: the memory is full. Choose a smaller one."
    assert not row.refused
    assert [one.request.job.stage for one in slow.fake.waiting((Run, StageRequest))] == ["network-cpu"]


def test_that_a_drawing_follows_the_run_that_it_waits_for(slow, qtbot):
    slow.page.shown.emit()
    slow.answer_all((Check, StageRequest))
    slow.page.run()
    draw(slow)
    assert slow.fake.waiting((Preview, DrawingRequest)) == []
    assert slow.network.why_no_answer == "The drawing is recognised when the run is over."
    with qtbot.waitSignal(slow.jobs.finished):
        slow.jobs.cancel()
    slow.settle()
    assert len(slow.fake.waiting((Preview, DrawingRequest))) == 1


def test_that_a_kept_cell_stays_under_the_mouse_until_it_is_let_go(bench):
    network = bench.network
    draw(bench)
    network.point(LayerCell(2, 5, 1, 1))
    network.show_origin_map(9)
    assert network.shown_origin.map == 9
    network.point(LayerCell(2, 5, 2, 1))
    assert network.shown_origin.map == 9, "another cell of the same map looks at the same input map"
    network.point(LayerCell(1, 5, 1, 1), keep=True)
    assert network.input_map is None
    network.point(LayerCell(0))
    assert network.cell == LayerCell(1, 5, 1, 1)
    network.release_cell()
    network.point(LayerCell(0))
    assert network.cell == LayerCell(0)
