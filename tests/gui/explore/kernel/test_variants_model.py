import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host.protocol import Availability, Filtered
from gui.engine_link.engine_state import EngineState
from gui.explore.kernel.variants_model import VariantsModel, reasons_in_list, short_reason
from tests.gui.made_results import make_engine_state
from tests.made_runs import make_result, make_simulated


@pytest.fixture
def model(workspace, state, results):
    return VariantsModel(workspace, state, results)


def times(model, *keys):
    return [model.row(key).time for key in keys]


def test_that_the_model_keeps_to_the_rules_of_qt_while_the_engine_comes_and_goes(workspace, results):
    state = EngineState()
    model = VariantsModel(workspace, state, results)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    ready = make_engine_state(cuda=False)
    state.variants, state.availability = ready.variants, ready.availability
    state.ready_changed.emit()
    results.add(make_result())
    workspace.change(variant="naive")
    keys = ["auto", "cpu-serial", "cpu-parallel", "naive", "tiled", "cached"]
    assert [row.key for row in model.rows()] == keys
    assert all(row.subtitle.casefold() != row.title.casefold() for row in model.rows()), "no title twice"
    assert tester


def test_that_the_time_is_that_of_the_newest_run_on_the_present_problem_and_layout(
    qtbot, model, workspace, results
):
    results.add(make_result("naive", 0.5, layout="packed"))
    with qtbot.waitSignal(model.dataChanged):
        results.add(make_result("tiled", 0.5))
    results.add(make_result("tiled", 0.25))
    results.add(make_result("cpu-serial", 20.0))
    assert times(model, "naive", "tiled", "cpu-serial") == ["", "0.250 ms", "20.0 ms"]
    workspace.change(layout=Layout.PACKED)
    assert times(model, "naive", "tiled", "cpu-serial") == ["0.500 ms", "", "20.0 ms"]
    workspace.change(border=Border.WRAP)
    assert times(model, "naive", "tiled", "cpu-serial") == ["", "", ""]


def test_that_a_word_stands_in_place_of_a_time_that_is_no_speed(model, state, results):
    results.add(make_simulated("naive"))
    refused = Availability("tiled", "The block is too large.", Block(16, 16))
    state.set_availability((refused,))
    assert times(model, "naive", "tiled") == ["simulated", "block refused"]
    # So that its block can be mended.
    assert model.index(model.position("tiled")).flags() & Qt.ItemFlag.ItemIsSelectable


def preview(variant, because=""):
    return Filtered(None, None, variant, "cpu", 3.0, chosen_because=because)


def test_that_auto_says_what_it_chose_and_why_until_the_job_or_the_variant_changes(model, workspace, state):
    state.show_filtered(preview("tiled", "estimated 0.13 ms; next best: naive (1 ms)"))
    assert model.rows()[0].idea == "Chose tiled (estimated 0.13 ms); next best: naive (1 ms)."
    # A run of a named variant chose nothing.
    state.show_filtered(preview("cpu-serial"))
    assert model.rows()[0].subtitle == "tiled"
    workspace.change(border=Border.WRAP)
    assert model.rows()[0].subtitle == ""
    workspace.change(border=Border.ZERO)
    assert model.rows()[0].subtitle == "tiled"
    workspace.change(variant="naive")
    assert model.rows()[0].subtitle == ""


@pytest.mark.parametrize(
    ("reason", "short"),
    [
        ("No NVIDIA driver. Install one.", "No NVIDIA driver"),
        ("It needs equal weights; that in row 1 is 0.3. Use tiled.", "It needs equal weights"),
        ("Not separable: its rank is 2, and 25 % are left over. Use tiled.", "Not separable: its rank is 2"),
        ("Its rank is 2.5 at most.", "Its rank is 2.5 at most"),
        ("", ""),
    ],
)
def test_that_a_reason_is_shown_up_to_its_first_stop(reason, short):
    assert short_reason(reason) == short


def test_that_neighbours_share_a_reason_and_others_repeat_it():
    driver, rank = "No driver. Install one.", "Rank 2; not 1. Use tiled."
    given = ["", driver, "No driver. Or else.", driver, "", rank, driver]
    assert reasons_in_list(given) == ["", "No driver (3 kernels)", "", "", "", "Rank 2", "No driver"]
