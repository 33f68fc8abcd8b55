"""The page Network in the whole window, around a fake engine."""

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtWidgets import QWidget

from engine.errors import EngineError
from engine.host.request import Preview, Run
from engine.results.text_forms import strict
from engine.tasks.network.problem import DrawingRequest, NetworkRequest, StageRequest
from gui.course.kernels_table import SECOND_ROLE
from gui.network.layers import LayerCell, origins, strongest_of
from gui.network.page import NO_INK
from tests.gui.fake_engine import is_kind
from tests.gui.made_network import DIGITS, made_run, made_weights
from tests.gui.made_window import made, shown_page


@pytest.fixture
def opened(haloscope, qtbot):
    """The window with the page Network in front, and the page."""
    page = shown_page(haloscope.window, "network", qtbot)
    qtbot.waitUntil(lambda: haloscope.network.facts is not None and bool(haloscope.network.results()))
    haloscope.window.activateWindow()
    return haloscope, page


@pytest.fixture
def drawn(opened, qtbot):
    """The page with a digit that has been recognised."""
    network = opened[0].network
    network.drawing.show_ink(network.facts.digits[5], 5, "Digit 5")
    qtbot.waitUntil(lambda: network.answer is not None and opened[1].is_complete)
    return opened


def test_that_a_page_says_what_to_do_until_there_is_a_digit(opened, qtbot):
    haloscope, page = opened
    made(page, "drawing").clear.click()
    qtbot.waitUntil(lambda: haloscope.network.why_no_answer == NO_INK)
    assert page.message_area.widget.empty_text.isVisible()
    assert haloscope.window.message_bar.isHidden()
    digits = made(page, "drawing").digits
    assert digits.model().rowCount() == DIGITS
    digits.setCurrentIndex(digits.model().index(5, 0))
    qtbot.waitUntil(lambda: haloscope.network.answer is not None)
    assert not page.message_area.widget.empty_text.isVisible()
    panel = made(page, "drawing")
    assert panel.verdict.text().startswith("Unsure: a 7 or a ")
    assert "The network is wrong." in panel.detail.text()
    assert "7: 91.0 %" in panel.bars.accessibleDescription()
    made(page, "drawing").clear.click()
    qtbot.waitUntil(lambda: page.message_area.widget.empty_text.isVisible())


def test_that_a_small_drawing_is_enlarged_for_the_network_and_that_is_said(drawn, qtbot):
    haloscope, page = drawn
    network, panel = haloscope.network, made(page, "drawing")
    network.drawing.dot((9.5, 9.5))
    qtbot.waitUntil(lambda: "enlarged and centred" in panel.detail.text())
    sent = [one for one in haloscope.link._client.seen if is_kind(one, (Preview, DrawingRequest))][-1]
    assert sent.job.ink == network.drawing.seen.tobytes()
    assert sent.job.ink != network.drawing.ink.tobytes()


def test_that_pointing_at_a_cell_shows_where_its_value_is_from_and_a_click_keeps_it(drawn, qtbot):
    haloscope, page = drawn
    network, views = haloscope.network, page.message_area.widget.views
    view = views[2]
    point = view.grid.cell_rect(LayerCell(2, 9, 3, 4)).center().toPoint()
    qtbot.mouseMove(view, point)
    assert (network.cell, network.is_kept) == (LayerCell(2, 9, 3, 4), False)
    panel = made(page, "cell")
    assert panel.cell_name.text() == "Convolution 2, map 9, row 3, column 4"
    assert views[1]._window == (None, range(3, 8), range(4, 9))
    assert made(page, "drawing").canvas._window == (range(6, 20), range(8, 22))
    found = origins(network.facts, network.answer.values, network.drawing.ink / 255.0, LayerCell(2, 9, 3, 4))
    strongest = strongest_of(found)
    assert panel.before.value() == strongest.map == views[1]._shown
    other = (strongest.map + 1) % 32
    panel.before.setValue(other)
    assert views[1]._shown == other
    assert panel.filter_title.text() == f"Filter 9, map {other}"
    assert panel.filter_table.accessibleDescription().count(";") == 4
    assert "Convolution 2, map 9, row 3, column 4:" in view.accessibleDescription()
    # A click keeps the cell until another one.
    point = view.grid.cell_rect(LayerCell(2, 3, 5, 6)).center().toPoint()
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point)
    assert (network.cell, network.is_kept) == (LayerCell(2, 3, 5, 6), True)
    qtbot.mouseMove(view, QPoint(2, 2))
    assert network.cell == LayerCell(2, 3, 5, 6)
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point)
    assert not network.is_kept


def test_that_arrow_keys_walk_over_the_maps(drawn, qtbot):
    haloscope, page = drawn
    view, network = page.message_area.widget.views[1], haloscope.network
    view.setFocus()
    for key, cell in (
        (Qt.Key.Key_Right, LayerCell(1, 0, 0, 1)),
        (Qt.Key.Key_Down, LayerCell(1, 0, 1, 1)),
        (Qt.Key.Key_PageDown, LayerCell(1, 1, 1, 1)),
        (Qt.Key.Key_End, LayerCell(1, 31, 1, 1)),
        (Qt.Key.Key_PageDown, LayerCell(1, 31, 1, 1)),
        (Qt.Key.Key_Home, LayerCell(1, 0, 1, 1)),
        (Qt.Key.Key_Up, LayerCell(1, 0, 0, 1)),
        (Qt.Key.Key_Up, LayerCell(1, 0, 0, 1)),
    ):
        qtbot.keyClick(view, key)
        assert network.cell == cell
    assert network.is_kept
    assert not made(page, "cell").to_explore.isVisible(), "a pool has no filter"
    assert "the average of" in made(page, "cell").sentence.text()
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert not network.is_kept
    strip = page.message_area.widget.views[4]
    qtbot.keyClick(strip, Qt.Key.Key_End)
    assert network.cell == LayerCell(4, column=127)


def test_that_a_filter_becomes_the_mask_of_explore_as_one_step(drawn):
    haloscope, page = drawn
    haloscope.network.point(LayerCell(2, 9, 3, 4), keep=True)
    haloscope.network.show_origin_map(11)
    before = haloscope.workspace.mask
    made(page, "cell").to_explore.click()
    assert haloscope.window.page is haloscope.window.first_page
    mask = haloscope.workspace.mask
    assert mask.weights.tolist() == made_weights()[1][9, 11].astype(float).tolist()
    assert mask.name == "Convolution 2, filter 9, map 11"
    settings = haloscope.workspace.settings
    assert (settings.flip, settings.normalise) == (False, False)
    haloscope.workspace.undo_stack.undo()
    assert haloscope.workspace.mask == before


def test_that_undo_means_strokes_on_this_page(opened, qtbot):
    haloscope, page = opened
    haloscope.workspace.set_mask(haloscope.workspace.mask.flipped(), "Turn")
    steps = haloscope.workspace.undo_stack.index()
    haloscope.network.drawing.clear()
    canvas = made(page, "drawing").canvas
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.rect().center())
    assert not haloscope.network.drawing.is_empty
    control = Qt.KeyboardModifier.ControlModifier
    for widget in (canvas, made(page, "stages").batch):
        widget.setFocus()
        qtbot.keyClick(widget, Qt.Key.Key_Z, control)
        assert haloscope.network.drawing.is_empty
        qtbot.keyClick(widget, Qt.Key.Key_Y, control)
        assert not haloscope.network.drawing.is_empty
    assert haloscope.workspace.undo_stack.index() == steps


def test_that_runs_of_all_stages_are_shown_as_they_arrive(opened, qtbot):
    haloscope, page = opened
    client = haloscope.link._client
    client.automatic = False
    haloscope.actions["run_all"].trigger()
    client.answer()
    qtbot.waitUntil(lambda: bool(client.waiting((Run, StageRequest))))
    panel = made(page, "stages")
    model = panel.model
    assert not model.bars.parts
    assert not panel.batch.isEnabled()
    client.answer((Run, StageRequest))
    qtbot.waitUntil(lambda: len(model.bars.parts) == 1 and bool(client.waiting((Run, StageRequest))))
    assert haloscope.window.status_line.last.text().startswith("Last run: Serial, one thread, 100 drawings")
    client.answer((Run, StageRequest))
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert "; Convolution 1 + Average pool 1: 20.0 ms, 33.3 %" in model.words(model.rows()[1])
    assert panel.legend.isVisible()
    assert panel.batch.isEnabled()
    assert "fused cannot run: There is no NVIDIA driver here" in panel.note.text()
    # So are files of results: what cannot run is one with its reason.
    stages = [run.result.variant for run in model.tried()]
    assert stages == ["network-serial", "network-cpu", "network-fused"]


def test_that_the_table_chooses_the_stage_that_run_runs(opened):
    haloscope, page = opened
    table = made(page, "stages").table
    # `selectRow` would add to the selection where a test before has pressed Ctrl.
    rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
    table.selectionModel().setCurrentIndex(table.order.index(1, 0), rows)
    assert haloscope.network.settings.stage == "network-cpu"
    assert "Tiles of outputs." in table.order.index(1, 0).data(Qt.ItemDataRole.ToolTipRole)
    haloscope.network.change(stage="network-fused")
    assert [index.row() for index in table.selectionModel().selectedRows()] == [2]
    proof = table.order.index(2, haloscope.network.position("proof"))
    assert "There is no NVIDIA driver here" in proof.data(Qt.ItemDataRole.ToolTipRole)


def test_that_nothing_runs_with_a_batch_that_is_no_number(opened, qtbot):
    haloscope, page = opened
    batch = made(page, "stages").batch
    batch.setFocus()
    batch.selectAll()
    qtbot.keyClicks(batch, "0")
    haloscope.actions["run"].trigger()
    assert not haloscope.state.running
    assert made(page, "stages").note.text().startswith("Batch did not change: ")
    batch.stepBy(1)
    assert batch.value() == 1000
    batch.stepBy(-1)
    assert batch.value() == 100


def test_that_weights_that_cannot_be_read_are_told_and_asked_for_again(open_window, qtbot):
    haloscope = open_window()
    assert haloscope.window.findChild(QWidget, "network") is None, "built before it is shown"
    haloscope.link._client.automatic = False
    page = shown_page(haloscope.window, "network", qtbot)
    error = EngineError("The weights 'weights.npz' cannot be used", "hidden[3, 4] is nan", "Take another.")
    haloscope.link._client.fail(error, NetworkRequest)
    qtbot.waitUntil(lambda: page.message_area.widget.empty_text.text() == str(error))
    assert "hidden[3, 4] is nan" in haloscope.window.message_bar.text
    assert not haloscope.actions["run"].isEnabled()
    assert page.status.why_no_run == str(error)
    haloscope.window.show_page("explore")
    haloscope.window.show_page("network")
    haloscope.link._client.answer_all(NetworkRequest)
    qtbot.waitUntil(lambda: not page.status.why_no_run)


def test_that_a_stage_of_the_report_is_loaded_from_the_page_course_with_a_click(haloscope, qtbot):
    haloscope.window.show_page("course")
    course = haloscope.window.page
    course.course.choose("cnn")
    kernels = course.kernels
    rows = [row for row in range(kernels.rowCount()) if kernels.kernel(row).task == "network"]
    row = next(row for row in rows if kernels.kernel(row).variant == "network-fused")
    assert "stage of the network" in kernels.item(row, 1).data(SECOND_ROLE)
    kernels.selectRow(row)
    course.kernels.load_button.click()
    page = haloscope.window.page
    assert page is haloscope.window.page_of("network")
    assert haloscope.network.settings.stage == "network-fused"
    qtbot.waitUntil(lambda: bool(made(page, "stages").table.selectionModel().selectedRows()))


def test_that_chunks_come_to_the_front_only_when_their_stage_ran_by_itself(opened, qtbot):
    haloscope, page = opened
    haloscope.network.change(device="simulator")
    cell = page.panel("cell")
    page.run_all()
    runs = haloscope.network
    qtbot.waitUntil(lambda: ("network-fused", None) in runs.runs and not runs.running)
    assert cell.isVisible()
    haloscope.network.change(stage="network-cpu")
    page.run()
    qtbot.waitUntil(lambda: not haloscope.network.running)
    assert cell.isVisible(), "it works in no chunks"
    haloscope.network.change(stage="network-fused")
    page.run()
    qtbot.waitUntil(lambda: made(page, "timeline").chart.isVisible())
    assert not cell.isVisible()


def test_that_runs_of_every_batch_come_back_through_json(opened):
    page, network = opened[1], opened[0].network
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
    stages = " ".join(run.result.variant for run in network.kept)
    assert stages == "network-serial network-fused network-cpu"
