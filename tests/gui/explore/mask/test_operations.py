"""Operations in the window: choice, parameters, kernels, previews, runs, what is found."""

from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from engine.errors import BadValue, OutOfDeviceMemory
from engine.geometry.block import Block
from engine.host.protocol import SaveResult
from engine.host.request import Check, Preview, Run
from engine.results.answer import Mark
from engine.results.text_forms import MISSING
from engine.work.operations.contract import OPERATIONS
from engine.work.steps import MaskStep, OperationStep
from gui.engine_link.engine_link import SegmentKeeper
from gui.explore.explain.selection import Selection
from gui.explore.inspect.histogram_plot import HistogramPlot
from gui.explore.jobs import comparable_of
from gui.explore.kernel.kernel_panel import KernelPanel
from gui.explore.mask.operation_panel import OperationPanel
from gui.explore.preview_controller import Display
from tests.gui.fake_engine import OPERATION_INFOS, is_kind
from tests.made_runs import make_result


@pytest.fixture
def page(haloscope, qtbot):
    return haloscope.window.first_page


def parameters_of(job):
    return dict(job.operation.settings)


def choose(page, qtbot, key):
    page.operation_choice.box.setCurrentIndex(page.operation_choice.box.findData(key))
    page.operation_choice.box.activated.emit(page.operation_choice.box.currentIndex())
    if key:
        qtbot.waitUntil(lambda: page.display.operation_result is not None)


def test_that_each_operation_keeps_its_own_settings(workspace):
    workspace.change(variant="tiled", block=Block(8, 8), device="cpu")
    workspace.choose("median")
    assert (workspace.job().variant, workspace.job().block) == ("auto", None)
    workspace.set_parameter("size", 5)
    workspace.change(variant="median-tiled", block=Block(16, 16))
    job = workspace.job()
    assert (job.operation.operation, parameters_of(job)) == ("median", {"size": 5})
    assert job.variant == "median-tiled"
    assert (job.block, job.device, job.picture) == (Block(16, 16), "cpu", workspace.picture)
    assert workspace.range_mode == "clip"
    workspace.choose("compress")
    assert parameters_of(workspace.job()) == {}
    workspace.choose("median")
    assert workspace.job() == job
    workspace.choose("")
    assert workspace.job().filter is not None
    assert (workspace.job().variant, workspace.job().block) == ("tiled", Block(8, 8))
    # A new mask and its undo bring convolution back.
    workspace.choose("median")
    workspace.set_mask(workspace.mask.with_offset(3.0))
    assert workspace.is_filtering
    workspace.choose("median")
    workspace.undo_stack.undo()
    assert workspace.is_filtering


def test_that_kernels_are_of_the_operation_with_times_of_its_parameters(workspace, state, results, qtbot):
    panel = KernelPanel(Selection(workspace, state, results))
    qtbot.addWidget(panel)
    workspace.choose("median")
    assert panel.note.text == "The kernels are listed once the engine is up."
    state.set_operations(OPERATION_INFOS)
    assert [row.key for row in panel.variants.rows()] == ["auto", "cpu-median", "median-tiled"]
    assert [panel.baseline.itemText(at) for at in range(2)] == ["cpu-median", "median-tiled"]
    assert not panel.result_type.isEnabled()
    workspace.change(variant="median-tiled")
    assert (panel.block.width_box.value(), panel.block.height_box.value()) == (32, 8)
    results.add(make_result("median-tiled", 2.0), comparable_of(workspace.job()))
    assert panel.variants.row("median-tiled").time == "2.00 ms"
    workspace.set_parameter("size", 5)
    assert panel.variants.row("median-tiled").time == ""
    # A default that was chosen is the same as one left alone.
    workspace.set_parameter("size", 3)
    assert panel.variants.row("median-tiled").time == "2.00 ms"
    workspace.choose("")
    assert [row.key for row in panel.variants.rows()][:2] == ["auto", "cpu-serial"]
    assert panel.result_type.isEnabled()


@pytest.fixture
def display(workspace, state):
    return Display(workspace, state, SegmentKeeper(lambda *names: None))


def test_that_parameters_have_controls_and_a_patch_of_a_file_takes_their_place(workspace, display, qtbot):
    workspace.choose("find-patch")
    workspace.set_parameter("width", 8)
    ask = partial(workspace.change, patch_path="/p/eye.png")
    panel = OperationPanel(OPERATIONS["find-patch"], workspace, display, ask)
    qtbot.addWidget(panel)
    assert panel.parameters.isEnabled()
    panel.patch_button.click()
    assert (workspace.job().patch_path, parameters_of(workspace.job())) == ("/p/eye.png", {})
    assert not panel.parameters.isEnabled()
    assert panel.patch_label.text() == "Patch: eye.png"
    panel.own_patch_button.click()
    assert (workspace.job().patch_path, parameters_of(workspace.job())) == ("", {"width": 8})
    for key, operation in OPERATIONS.items():
        workspace.choose(key)
        panel = OperationPanel(operation, workspace, display, lambda: None)
        qtbot.addWidget(panel)
        for parameter in operation.parameters:
            control = panel.parameters.controls[parameter.name]
            assert control.accessibleName().startswith(parameter.title)
            assert parameter.explanation in control.toolTip()
            if isinstance(control, QComboBox):
                control.activated.emit(control.count() - 1)
                assert parameters_of(workspace.job())[parameter.name] == parameter.choices[-1]
            else:
                control.setValue(control.maximum())
                assert parameters_of(workspace.job())[parameter.name] == parameter.most


def test_that_a_histogram_describes_its_counts(qtbot):
    plot = HistogramPlot()
    qtbot.addWidget(plot)
    plot.resize(300, 200)
    plot.show_counts(((1, 2, 0, 1),))
    assert plot.accessibleDescription().startswith("4 samples in 4 bins of 1 channel. Arrow keys")
    assert not plot.grab().isNull()
    plot.show()
    plot.setFocus()
    for key, described in (
        (Qt.Key.Key_Right, "Bin 0 of 4, 1 sample."),
        (Qt.Key.Key_Right, "Bin 1 of 4, 2 samples."),
        (Qt.Key.Key_End, "Bin 3 of 4, 1 sample."),
        (Qt.Key.Key_Right, "Bin 3 of 4, 1 sample."),
        (Qt.Key.Key_Home, "Bin 0 of 4, 1 sample."),
    ):
        qtbot.keyClick(plot, key)
        assert plot.accessibleDescription().startswith(described)
    plot.show_counts(((1, 2), (3, 4), (5, 6)))
    assert plot.accessibleDescription().startswith("21 samples in 2 bins of 3 channels")


@pytest.mark.usefixtures("light_again")
def test_that_bracket_keys_move_the_handles_of_a_histogram(qtbot):
    plot = HistogramPlot()
    qtbot.addWidget(plot)
    plot.show_counts(((1, 2, 3, 4),), (0.0, 400.0))
    plot.show_window((0.0, 400.0))
    moved = []
    plot.window_moved.connect(lambda ends: (moved.append(ends), plot.show_window(ends)))
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_BracketLeft, Qt.Key.Key_BracketRight):
        qtbot.keyClick(plot, key)
    assert moved == [(100.0, 400.0), (100.0, 200.0)]


PREVIEW = (Preview, OperationStep)


def choose_on(bench, key):
    """Choose an operation; its preview is requested."""
    bench.workspace.choose(key)
    bench.settle()


def test_that_after_a_refused_operation_an_earlier_result_stays_and_a_failed_run(slow_bench, tmp_path):
    choose_on(slow_bench, "histogram")
    slow_bench.answer(PREVIEW)
    assert not slow_bench.state.result_is_earlier
    choose_on(slow_bench, "hue-shift")
    slow_bench.fail(BadValue("A grey picture", "it has no hue", "Take one in colour."), PREVIEW)
    assert slow_bench.state.result_is_earlier
    slow_bench.pictures.save_result(tmp_path / "out.png")
    assert not slow_bench.fake.waiting(SaveResult)
    assert "earlier result" in slow_bench.messages.newest.why
    choose_on(slow_bench, "histogram")
    slow_bench.answer(PREVIEW)
    assert not slow_bench.state.result_is_earlier
    assert slow_bench.display.operation_result is not None
    error = OutOfDeviceMemory("The picture", "it needs 9 GB and 4 are free", "Use a smaller one.")
    choose_on(slow_bench, "find-patch")
    for patch, rows in (("", 1), ("/p/eye.png", 1)):
        slow_bench.change(patch_path=patch)
        slow_bench.runs.run()
        slow_bench.fail(error, Run)
        assert "9 GB" in slow_bench.messages.of("run").why
        assert slow_bench.results.rowCount() == rows
    (result,) = slow_bench.results.results()
    assert result.failure == error.failure
    assert result.problem.operation_text == "find-patch (left=-1, top=-1, width=16, height=16)"
    assert not slow_bench.results.is_earlier(result)


def test_that_a_refusal_stands_in_the_panel_until_the_next_preview(bench, qtbot):
    choose_on(bench, "median")
    panel = OperationPanel(OPERATIONS["median"], bench.workspace, bench.display, lambda: None)
    qtbot.addWidget(panel)
    bench.change(parameters={"size": 5})
    assert panel.refusal.text().startswith("Size 5: it is refused here")
    assert bench.messages.newest is None
    bench.change(parameters={})
    assert panel.refusal.text() == ""
    assert bench.display.operation_result is not None
    for kind in (PREVIEW, (Check, OperationStep)):
        asked = [parameters_of(one.job) for one in bench.asked(kind)]
        assert asked == [{}, {"size": 5}, {}]


def test_that_an_operation_takes_the_place_of_the_mask_and_has_its_own_baseline(page, haloscope, qtbot):
    assert page.operation_choice.stack.currentWidget() is page.mask_panel
    asked = len(haloscope.link._client.seen)
    choose(page, qtbot, "histogram")
    assert isinstance(page.operation_choice.stack.currentWidget(), OperationPanel)
    assert page.kernel_panel.variants.row("histogram-tiled")
    assert page.panels[0].windowTitle() == "Operation"
    box = page.picture_view.toolbar.range_box
    assert (box.isEnabled(), "nothing lies out of range" in box.toolTip()) == (False, True)
    panel = page.operation_choice.panel("histogram")
    assert panel.plot.isVisible()
    seen = haloscope.link._client.seen[asked:]
    assert not [request for request in seen if is_kind(request, (Check, MaskStep))]
    choose(page, qtbot, "")
    qtbot.waitUntil(lambda: not haloscope.state.result_is_earlier)
    assert page.operation_choice.stack.currentWidget() is page.mask_panel
    assert page.kernel_panel.variants.row("cpu-serial")
    choose(page, qtbot, "find-patch")
    canvas = page.picture_view.canvas
    assert (canvas.scene.mark, canvas.scene.mark_text) == (Mark(5, 7, 11, 13), "Best score 0.7500")
    before = canvas.grab().toImage()
    canvas.show_scene(mark=None)
    assert canvas.grab().toImage() != before
    choose(page, qtbot, "negative")
    assert canvas.scene.mark is None
    choose(page, qtbot, "")
    page.run_all()
    qtbot.waitUntil(lambda: not haloscope.state.running and page.results.rowCount() == 3)
    choose(page, qtbot, "negative")
    page.run_all()
    qtbot.waitUntil(lambda: not haloscope.state.running and page.results.rowCount() == 4)
    assert page.results.results()[-1].variant == "cpu-negative"
    assert page.results.baseline == page.kernel_panel.baseline.currentText() == "cpu-negative"
    assert page.kernel_panel.variants.row("cpu-negative").time == "2.00 ms"
    assert "3 for an earlier problem" in page.results_panel.summary.text()
    cells = {key: page.results.index(3, page.results.position(key)).data() for key in ("operation", "mask")}
    assert cells == {"operation": "negative", "mask": MISSING}
    haloscope.actions["copy_results"].trigger()
    assert haloscope.window.message_bar.text == "4 rows copied."
    choose(page, qtbot, "")
    assert page.results.baseline == "cpu-serial"
    assert page.results_panel.about.text().startswith("Run 3: naive · ")
    haloscope.actions["clear_results"].trigger()
    assert page.results.rowCount() == 0
    assert page.kernel_panel.variants.row("naive").time == "", "no time is left behind"
    assert not haloscope.actions["save_results"].isEnabled()
