import pytest

from engine.mask.presets import preset
from gui.engine_link.engine_state import EngineState
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from gui.matrices.matmul_state import MatmulState
from gui.shell.status_line import StatusLine
from tests.gui.fake_engine import READY
from tests.gui.made_results import make_picture
from tests.made_runs import make_result, make_simulated


@pytest.fixture
def parts(qtbot):
    workspace, state, results = Workspace(preset("sharpen")), EngineState(), ResultsModel()
    line = StatusLine(workspace, state, results, MatmulState())
    qtbot.addWidget(line)
    line.show()
    return line, workspace, state, results


def test_that_it_says_what_the_engine_is(parts):
    line, workspace, state, _ = parts
    assert line._engine.text() == "Engine: starting"
    state.set_ready(READY)
    assert line._engine.text() == "Engine: CPU, 2 cores, ready"
    workspace.change(device="simulator")
    assert line._engine.text() == "Engine: CUDA simulator, ready"
    state.set_status("lost: it crashed (SIGSEGV)")
    assert "SIGSEGV" in line._engine.text()


def test_that_progress_is_shown_only_for_slow_work(parts, qtbot):
    line, _, state, _ = parts
    state.set_task("run", "verifying", 0.25)
    assert not line._bar.isVisible()
    qtbot.waitUntil(line._bar.isVisible, timeout=5000)
    assert line._stage.text() == "verifying"
    assert line._bar.value() == 250
    state.end_task("run")
    assert not line._bar.isVisible()
    assert line._last.isVisible()


def test_that_the_last_run_is_told_with_its_proof_and_its_speed_up(parts):
    line, _, _, results = parts
    assert line.last_run == "No run yet: open a picture first (Ctrl+O)."
    results.add(make_result("cpu-serial", 20.0))
    results.add(make_result("tiled", 0.04))
    assert "0.04" in line.last_run
    assert "verified on every pixel" in line.last_run
    assert line._speed_up.text() == "500× vs cpu-serial"
    assert line._speed_up.toolTip() == "Against run 1 (cpu-serial), same problem."


def test_that_a_failed_run_is_told_with_its_reason_and_no_speed(parts):
    line, _, _, results = parts
    results.add(
        make_result("tiled", timing=None, verification=None, failure="The device failed: illegal address.")
    )
    assert "illegal address" in line.last_run
    assert line._speed_up.text() == ""


def test_that_a_simulated_run_says_that_its_times_mean_nothing(parts):
    status, _, _, results = parts
    results.add(make_simulated("naive"))
    assert "its times mean nothing" in status.last_run


def test_that_a_long_reason_is_cut_with_an_ellipsis_and_whole_in_the_tooltip(parts):
    line, _, _, results = parts
    line.resize(500, line.sizeHint().height())
    results.add(make_result("tiled", timing=None, verification=None, failure="It failed. " * 40))
    (shown,) = line._last._cut(line.last_run, 1)
    assert shown.endswith("…")
    assert line._last.fontMetrics().horizontalAdvance(shown) <= line._last.width()
    assert line._last.toolTip() == line.last_run
    assert line.width() == 500


def test_that_a_refused_run_is_told_without_saying_its_name_twice(parts):
    line, _, _, results = parts
    why = "row 50 of the picture is nan. Use cpu-parallel."
    results.add(
        make_result("cpu-fft", timing=None, verification=None, failure=f"variant 'cpu-fft' here: {why}")
    )
    assert line.last_run == "Last run: Cpu-fft: Row 50 of the picture is nan. Use cpu-parallel."


def test_that_without_a_run_it_says_what_is_missing_or_what_to_press(parts):
    line, workspace, state, _ = parts
    assert line.last_run == "No run yet: open a picture first (Ctrl+O)."
    workspace.set_picture(make_picture())
    assert line.last_run == "No run yet: kernels run once the engine is up."
    state.set_ready(READY)
    assert line.last_run == "No run yet: press Run (Ctrl+R) to measure and verify."
