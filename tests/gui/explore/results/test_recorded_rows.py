"""Recorded runs stand below those of this machine, are marked, and are never taken for them."""

import json

import pytest
from PySide6.QtTest import QAbstractItemModelTester

from engine.device_info import RECORDED
from engine.mask.presets import preset
from engine.tasks.messages import RecordedRequest, RecordedRuns
from gui.explore.results.results_panel import ResultsPanel
from gui.page.runs_page import save_runs
from gui.runs.model import RUN_ROLE
from tests.gui.made_results import make_engine_state
from tests.made_runs import MASK, PROBLEM, made_recorded_runs, make_result

RECORDED_RUNS = made_recorded_runs(RecordedRequest(PROBLEM, MASK))


@pytest.fixture
def mixed(results):
    """Two runs of this machine, and two recorded ones."""
    results.add(make_result("cpu-serial", 20.0))
    results.show_recorded(RECORDED_RUNS)
    results.add(make_result("tiled", 0.5))
    return results


def variants(results):
    rows = (results.index(at, 0).data(RUN_ROLE).result for at in range(results.rowCount()))
    return [(result.variant, result.device == RECORDED) for result in rows]


def test_that_a_new_run_stands_before_the_recorded_ones_and_stays_selected(qtbot, mixed, results):
    expected = [("cpu-serial", False), ("tiled", False), ("cpu-serial", True), ("tiled", True)]
    assert variants(mixed) == expected
    assert [run.speed_up for run in mixed.rows()] == [1.0, 40.0, 1.0, 3000.0], "within one machine"
    # Runs that came before any problem was set are shown anew when one is; recorded ones are for each.
    with qtbot.waitSignal(mixed.present_changed):
        mixed.follow("another problem")
    assert [mixed.is_earlier(run.result) for run in mixed.rows()] == [True, True, False, False]
    results.add(make_result("cpu-serial", 20.0))
    results.add(make_result("tiled", 0.5))
    results.describe(results.results()[0])
    results.show_recorded(RECORDED_RUNS)
    assert results.described.result.variant == "cpu-serial"


def test_that_recorded_rows_come_and_go_and_are_offered_where_there_is_no_gpu(results, qtbot, workspace):
    QAbstractItemModelTester(results, QAbstractItemModelTester.FailureReportingMode.Fatal)
    results.show_recorded(RECORDED_RUNS)
    results.add(make_result())
    results.take_out(results.kept)
    results.show_recorded(RecordedRuns())
    assert results.rowCount() == 0
    panel = ResultsPanel(results, workspace, make_engine_state(cuda=False))
    qtbot.addWidget(panel)
    assert "There is no GPU here" in panel.stack.text


def test_that_recorded_runs_are_of_the_mask_and_named_in_a_saved_file(haloscope, qtbot, mixed, tmp_path):
    results = haloscope.window.page.results
    haloscope.actions["show_recorded"].trigger()
    qtbot.waitUntil(lambda: results.rowCount() == 2)
    haloscope.workspace.set_mask(preset("box-5"))
    qtbot.waitUntil(lambda: results.recorded[0].result.problem.mask_shape == (5, 5))
    haloscope.actions["show_recorded"].trigger()
    assert results.rowCount() == 0
    path = tmp_path / "results.json"
    mixed.take_out(mixed.kept)
    save_runs(path, mixed, haloscope.state, haloscope.messages)
    saved = json.loads(path.read_text())
    assert {run["device"] for run in saved["results"]} == {"recorded"}
    assert saved["environment"]["versions"] == {}
