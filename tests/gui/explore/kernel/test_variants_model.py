import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host.protocol import Availability, Filtered
from gui.engine_link.engine_state import EngineState
from gui.explore.kernel.variants_model import ROW_ROLE, VariantsModel
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from tests.gui.made_results import NO_CUDA, REMARK, make_engine_state, make_workspace
from tests.made_runs import make_result, make_simulated

pytestmark = pytest.mark.usefixtures("qapp")

_SELECTABLE = Qt.ItemFlag.ItemIsSelectable


def make_model(
    engine_state: EngineState | None = None, workspace: Workspace | None = None
) -> tuple[VariantsModel, Workspace, ResultsModel]:
    workspace = workspace or make_workspace()
    results = ResultsModel()
    model = VariantsModel(workspace, engine_state or make_engine_state(), results)
    # Qt does not own what the model only listens to.
    model.kept = (results, engine_state)  # type: ignore[attr-defined]
    return model, workspace, results


def time_of(model: VariantsModel, key: str) -> str:
    return model.index(model.position(key)).data(ROW_ROLE).time


def test_that_the_model_keeps_to_the_rules_of_qt_while_the_engine_comes_and_goes() -> None:
    state = EngineState()
    model, workspace, results = make_model(state)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    ready = make_engine_state(cuda=False)
    state.variants, state.availability = ready.variants, ready.availability
    state.ready_changed.emit()
    results.add(make_result())
    workspace.change(variant="naive")
    assert [row.key for row in model.rows()] == [
        "auto",
        "cpu-serial",
        "cpu-parallel",
        "naive",
        "tiled",
        "cached",
    ]
    assert tester


def test_that_the_time_is_that_of_the_layout_that_is_chosen() -> None:
    model, workspace, results = make_model()
    results.add(make_result("naive", 0.2, layout="packed"))
    results.add(make_result("cpu-serial", 20.0))
    assert (time_of(model, "naive"), time_of(model, "cpu-serial")) == ("", "20.0 ms")
    workspace.change(layout=Layout.PACKED)
    assert (time_of(model, "naive"), time_of(model, "cpu-serial")) == ("0.200 ms", "20.0 ms")


def test_that_the_tooltip_tells_what_to_know_before_using_a_variant() -> None:
    model, _, _ = make_model()
    tooltip = model.index(model.position("tiled")).data(Qt.ItemDataRole.ToolTipRole)
    assert tooltip == f"The input tile with its halo in shared memory.\n\n{REMARK}"


def test_that_an_unavailable_variant_is_greyed_with_the_reason_in_its_tooltip() -> None:
    model, _, _ = make_model(make_engine_state(cuda=False))
    index = model.index(model.position("tiled"))
    assert not index.flags() & _SELECTABLE
    assert NO_CUDA in index.data(Qt.ItemDataRole.ToolTipRole)
    assert NO_CUDA in index.data(Qt.ItemDataRole.AccessibleTextRole)


def test_that_a_variant_refused_for_its_block_can_still_be_chosen_so_that_the_block_can_be_mended() -> None:
    refused = {"tiled": Availability("tiled", "The block is too large.", Block(16, 16))}
    model, _, _ = make_model(make_engine_state(refused=refused))
    index = model.index(model.position("tiled"))
    assert index.flags() & _SELECTABLE
    assert index.data(ROW_ROLE).time == "block refused"


def test_that_the_time_is_that_of_the_newest_run_on_the_present_problem(qtbot: QtBot) -> None:
    model, workspace, results = make_model()
    results.add(make_result("tiled", 0.5))
    with qtbot.waitSignal(model.dataChanged):
        results.add(make_result("tiled", 0.25))
    assert time_of(model, "tiled") == "0.250 ms"
    workspace.change(border=Border.WRAP)
    assert time_of(model, "tiled") == ""


def test_that_the_simulator_has_a_word_in_place_of_a_time() -> None:
    model, _, results = make_model()
    results.add(make_simulated("naive"))
    assert time_of(model, "naive") == "simulated"


def preview(variant: str, because: str = "") -> Filtered:
    return Filtered(None, None, variant, "cpu", 3.0, chosen_because=because)


def test_that_auto_says_what_it_chose_and_why_after_a_preview() -> None:
    state = make_engine_state()
    model, _, _ = make_model(state)
    state.show_filtered(preview("tiled", "it reuses each input 25 times"))
    assert model.rows()[0].idea == "Chose tiled: it reuses each input 25 times."
    assert model.index(0).data(ROW_ROLE).subtitle == "tiled"


def test_that_the_run_of_a_named_variant_does_not_hide_what_auto_chose() -> None:
    state = make_engine_state()
    model, _, _ = make_model(state)
    state.show_filtered(preview("tiled", "it is the fastest"))
    state.show_filtered(preview("cpu-serial"))
    assert model.rows()[0].subtitle == "tiled"


def test_that_auto_says_nothing_of_another_job_or_while_a_variant_is_named() -> None:
    state = make_engine_state()
    model, workspace, _ = make_model(state)
    state.show_filtered(preview("tiled", "it is the fastest"))
    workspace.change(border=Border.WRAP)
    assert model.rows()[0].subtitle == ""
    workspace.change(border=Border.ZERO, variant="naive")
    assert model.rows()[0].subtitle == ""


def test_that_a_title_is_not_repeated_by_the_key() -> None:
    model, _, _ = make_model()
    for row in model.rows():
        assert row.subtitle.casefold() != row.title.casefold()
