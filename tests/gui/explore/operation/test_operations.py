"""Operations in the window: choice, parameters, kernels, previews, runs, what is found."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QComboBox

from engine.errors import BadValue
from engine.geometry.block import Block
from engine.host.protocol import Availability, SaveResult
from engine.host.verbs import Check, Preview, Run
from engine.tasks.filtering.messages import FilterJob
from engine.tasks.operation import variants as registry
from engine.tasks.operation.found import Mark
from engine.tasks.operation.messages import OperationJob
from engine.tasks.operation.operations import OPERATIONS
from gui.explore.operation.histogram_plot import HistogramPlot
from gui.explore.operation.operation_controller import OperationController
from gui.explore.operation.operation_kernels import OperationKernels
from gui.explore.operation.operation_panel import OperationPanel
from gui.explore.operation.operation_results import OperationResults
from gui.explore.operation.operation_state import OperationState
from gui.explore.operation.parameter_controls import ParameterControls
from tests.gui.fake_engine import OPERATION_INFOS, is_kind
from tests.made_runs import made_reason, make_result


@pytest.fixture
def page(haloscope, qtbot):
    """The page Explore of a whole window."""
    return haloscope.window.first_page


def choose(page, qtbot, key):
    """Choose an operation in the box, and wait for its preview."""
    page.operation_dock.box.setCurrentIndex(page.operation_dock.box.findData(key))
    page.operation_dock.box.activated.emit(page.operation_dock.box.currentIndex())
    if key:
        qtbot.waitUntil(lambda: page.operations.found is not None)


@pytest.fixture
def operations(workspace):
    state = OperationState(workspace)
    state.set_infos(OPERATION_INFOS)
    return state


def test_that_the_state_describes_a_job_of_the_operation_and_none_of_filters(operations, workspace):
    assert workspace.job() is not None
    assert operations.job() is None
    operations.choose("median")
    operations.set_parameter("size", 5)
    operations.change(variant="median-tiled", block=Block(16, 16))
    workspace.change(device="cpu")
    job = operations.job()
    assert (job.operation, job.settings, job.variant) == ("median", {"size": 5}, "median-tiled")
    assert (job.block, job.device, job.picture) == (Block(16, 16), "cpu", workspace.picture)
    assert workspace.job() is None
    assert workspace.range_mode == "clip"
    # Each operation keeps its choices.
    operations.choose("compress")
    assert operations.job().settings == {}
    operations.choose("median")
    assert operations.job().settings == {"size": 5}
    operations.choose("")
    assert workspace.job() is not None


def test_that_a_run_is_found_again_when_a_parameter_goes_back_to_its_default(operations):
    operations.choose("median")
    run = make_result("cpu-median", 2.0)
    operations.add_run(operations.job(), run)
    operations.set_parameter("size", 5)
    assert operations.runs() == {}
    operations.set_parameter("size", 3)
    assert operations.runs() == {"cpu-median": run}


def test_that_a_patch_from_a_file_takes_the_place_of_the_parameters(operations, qtbot):
    operations.choose("find-patch")
    operations.set_parameter("width", 8)
    panel = OperationPanel(
        OPERATIONS["find-patch"], operations, lambda: operations.change(patch_path="/p/eye.png")
    )
    qtbot.addWidget(panel)
    assert panel.parameters.isEnabled()
    panel.patch_button.click()
    assert (operations.job().patch_path, operations.job().settings) == ("/p/eye.png", {})
    assert not panel.parameters.isEnabled()
    assert panel.patch_label.text() == "Patch: eye.png"
    panel.own_patch_button.click()
    assert (operations.job().patch_path, operations.job().settings) == ("", {"width": 8})


@pytest.mark.parametrize("key", OPERATIONS)
def test_that_every_parameter_has_a_control_with_its_name_and_explanation(operations, qtbot, key):
    operations.choose(key)
    panel = OperationPanel(OPERATIONS[key], operations, lambda: None)
    qtbot.addWidget(panel)
    for parameter in OPERATIONS[key].parameters:
        control = panel.parameters.controls[parameter.name]
        assert control.accessibleName().startswith(parameter.title)
        assert parameter.explanation in control.toolTip()
        if isinstance(control, QComboBox):
            control.activated.emit(control.count() - 1)
            assert operations.job().settings[parameter.name] == parameter.choices[-1]
        else:
            control.setValue(control.maximum())
            assert operations.job().settings[parameter.name] == parameter.most


def test_that_the_kernels_are_listed_with_reasons_and_a_block_can_be_chosen(
    operations, workspace, state, qtbot
):
    operations.choose("median")
    kernels = OperationKernels(operations, workspace, state)
    qtbot.addWidget(kernels)
    model = kernels.table.model()
    assert [model.index(row, 0).data() for row in range(3)] == ["Automatic", "CPU, all cores", "Tiled"]
    operations.set_availability(
        (Availability("cpu-median"), Availability("median-tiled", made_reason("No GPU.")))
    )
    assert model.index(2, 1).data() == "unavailable"
    assert "No GPU." in model.index(2, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert kernels.reasons.text() == "Tiled cannot run: No GPU"
    assert not model.flags(model.index(2, 0)) & Qt.ItemFlag.ItemIsEnabled
    operations.set_availability(())
    kernels.table.setCurrentIndex(model.index(2, 0))
    assert operations.choice.variant == "median-tiled"
    assert (kernels.width_box.value(), kernels.height_box.value()) == (32, 8)
    kernels.height_box.setValue(4)
    assert operations.job().block == Block(32, 4)
    kernels.default_button.click()
    assert operations.job().block is None
    kernels.table.setCurrentIndex(model.index(1, 0))
    kernels.show()
    assert not kernels.width_box.isVisible()
    assert kernels.block_note.isVisible()
    assert kernels.block_note.text() == "not used: no blocks on the CPU"


def test_that_the_title_of_each_kernel_has_one_line_at_the_first_width(operations, workspace, state, qtbot):
    titles = tuple(dict.fromkeys(one.title for one in registry.OPERATION_VARIANTS))
    info = next(one for one in OPERATION_INFOS if one.key == "median")
    variants = tuple(
        replace(info.variants[1], key=f"median-{at}", title=title) for at, title in enumerate(titles)
    )
    operations.set_infos((replace(info, variants=variants),))
    operations.choose("median")
    kernels = OperationKernels(operations, workspace, state)
    qtbot.addWidget(kernels)
    kernels.resize(320, 500)
    kernels.show()
    table, model = kernels.table, kernels.table.model()
    operations.set_availability((Availability("median-1", made_reason("No GPU.")),))
    assert model.index(2, 1).data() == "unavailable"
    for row in range(model.rowCount()):
        assert table.rowHeight(row) == table.rowHeight(0)
        for column in range(model.columnCount()):
            index = model.index(row, column)
            assert table.sizeHintForIndex(index).width() <= table.columnWidth(column), index.data()


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


@pytest.fixture
def operating(slow_bench):
    """A slow bench with a controller of operations, showing the histogram."""
    bench = slow_bench
    results = OperationResults(bench.operations)
    bench.operating = OperationController(
        bench.operations, bench.state, bench.link, bench.jobs, bench.behind, bench.display, results
    )
    bench.operations.choose("histogram")
    bench.settle()
    bench.answer((Preview, OperationJob))
    return bench


def test_that_what_stays_after_a_refused_operation_is_an_earlier_result_and_is_not_saved(operating, tmp_path):
    assert not operating.state.result_is_earlier
    operating.operations.choose("hue-shift")
    operating.settle()
    operating.fail(
        BadValue("A grey picture", "it has no hue", "Take one in colour."), (Preview, OperationJob)
    )
    assert operating.state.result_is_earlier
    operating.pictures.save_result(tmp_path / "out.png")
    assert not operating.fake.waiting(SaveResult)
    assert "earlier result" in operating.messages.newest.why
    operating.operations.choose("histogram")
    operating.settle()
    operating.answer((Preview, OperationJob))
    assert not operating.state.result_is_earlier
    assert operating.operations.found is not None


def test_that_an_operation_chosen_again_at_once_finds_its_numbers_again(operating):
    operating.operations.choose("negative")
    operating.operations.choose("histogram")
    operating.settle()
    operating.answer_all((Preview, OperationJob))
    assert operating.operations.found is not None


@pytest.mark.slow
def test_that_an_operation_takes_the_place_of_the_mask_and_gives_it_back(page, haloscope, qtbot):
    assert page.operation_dock.stack.currentWidget() is page.mask_panel
    asked = len(haloscope.link._client.seen)
    choose(page, qtbot, "histogram")
    assert isinstance(page.operation_dock.stack.currentWidget(), OperationPanel)
    assert isinstance(page.kernel_dock.currentWidget(), OperationKernels)
    assert page.docks[0].windowTitle() == "Operation"
    box = page.picture_view.toolbar.range_box
    assert (box.isEnabled(), "nothing lies out of range" in box.toolTip()) == (False, True)
    assert not any(action.isEnabled() for action in page.commands.range_modes.actions())
    panel = page.operation_dock.panel("histogram")
    assert panel.plot.isVisible()
    seen = haloscope.link._client.seen[asked:]
    assert not [request for request in seen if is_kind(request, (Check, FilterJob))]
    choose(page, qtbot, "")
    qtbot.waitUntil(lambda: not haloscope.state.result_is_earlier)
    assert page.operation_dock.stack.currentWidget() is page.mask_panel
    assert page.kernel_dock.currentWidget() is page.kernel_panel


@pytest.mark.slow
def test_that_the_best_place_is_marked_with_its_score(page, qtbot):
    choose(page, qtbot, "find-patch")
    canvas = page.picture_view.canvas
    assert (canvas._mark, canvas._mark_text) == (Mark(5, 7, 11, 13), "Best score 0.7500")
    before = canvas.grab().toImage()
    canvas.set_mark(None)
    assert canvas.grab().toImage() != before
    choose(page, qtbot, "negative")
    assert canvas._mark is None


@pytest.mark.slow
def test_that_runs_are_in_the_list_the_table_and_the_status(page, haloscope, qtbot):
    choose(page, qtbot, "negative")
    page.run_all()
    qtbot.waitUntil(lambda: not haloscope.state.running and bool(page.operation_results.rows()))
    assert [row.result.variant for row in page.operation_results.rows()] == ["cpu-negative"]
    assert page.results.rows() == ()
    assert page.operations.runs()["cpu-negative"].kernel_ms == 2.0
    assert page.status.sentence.startswith("Last run: CPU, all cores, 2")
    assert page.status.has_results
    page.run()
    qtbot.waitUntil(lambda: len(page.operation_results.rows()) == 2 and not haloscope.state.running)
    assert len([one for one in haloscope.link._client.seen if is_kind(one, (Run, OperationJob))]) == 2
    kernels = page.kernel_dock.currentWidget().table.model()
    assert kernels.index(1, 1).data() == "2.00 ms"
    haloscope.actions["copy_results"].trigger()
    assert haloscope.window.message_bar.text == "2 rows copied."
    haloscope.actions["clear_results"].trigger()
    assert page.operation_results.rows() == ()
    assert kernels.index(1, 1).data() == "", "no time is left behind"
    assert not haloscope.actions["export_csv"].isEnabled()
    assert not haloscope.actions["clear_results"].isEnabled()


@pytest.mark.slow
def test_that_tile_and_block_sizes_say_that_they_are_of_convolutions(page, haloscope, qtbot):
    choose(page, qtbot, "negative")
    page.blocks_dock.raise_()
    page.tile_dock.raise_()
    qtbot.waitUntil(lambda: page.tile_slot.is_filled)
    tile = page.tile_slot.layout().itemAt(0).widget()
    qtbot.waitUntil(lambda: tile.words.startswith("Tiles are drawn of convolutions only."))
    assert not tile.kernel.isEnabled()
    assert page.blocks_panel.words.startswith("Block sizes are compared for convolutions only.")
    choose(page, qtbot, "")
    qtbot.waitUntil(lambda: not tile.words.startswith("Tiles are drawn of") and tile.kernel.isEnabled())
    assert page.blocks_panel.words == ""


@pytest.mark.slow
def test_that_a_refusal_stands_in_the_panel_and_the_next_preview_takes_it_away(page, haloscope, qtbot):
    choose(page, qtbot, "median")
    panel = page.operation_dock.panel("median")
    page.operations.set_parameter("size", 5)
    qtbot.waitUntil(lambda: panel.refusal.text().startswith("Size 5: it is refused here"))
    page.operations.set_parameter("size", 3)
    qtbot.waitUntil(lambda: not panel.refusal.text())
    previews = [one for one in haloscope.link._client.seen if is_kind(one, (Preview, OperationJob))]
    assert [one.job.settings for one in previews] == [{}, {"size": 5}, {"size": 3}]


@pytest.mark.slow
def test_that_the_former_choices_are_shown_and_checked_again_after_a_refusal(page, haloscope, qtbot):
    choose(page, qtbot, "median")
    page.operations.set_parameter("size", 5)
    qtbot.waitUntil(lambda: "it is refused here" in page.operations.refusal)
    page.operations.change(parameters={})
    qtbot.waitUntil(lambda: page.operations.found is not None and not page.operations.refusal)
    checked = [one for one in haloscope.link._client.seen if is_kind(one, (Check, OperationJob))]
    assert [one.job.settings for one in checked] == [{}, {"size": 5}, {}]


@pytest.mark.slow
def test_that_the_result_is_saved_as_it_is_shown_and_a_new_mask_brings_convolution_back(
    page, haloscope, qtbot, tmp_path
):
    choose(page, qtbot, "negative")
    page.pictures.save_result(tmp_path / "out.png")
    (request,) = [one for one in haloscope.link._client.seen if isinstance(one, SaveResult)]
    assert request.values == page.operations.found.shown.values
    assert request.range_mode == "clip"
    page.workspace.set_mask(page.workspace.mask.with_offset(3.0))
    assert not page.operations.is_active


@pytest.mark.slow
def test_that_tab_goes_from_the_operation_to_its_parameters_and_by_the_picture_to_its_kernels(
    page, haloscope, qtbot
):
    choose(page, qtbot, "median")
    haloscope.window.activateWindow()
    page.operation_dock.box.setFocus()
    size = page.operation_dock.panel("median").parameters.controls["size"]
    kernels = page.kernel_dock.currentWidget()
    met = []
    while (widget := QApplication.focusWidget()) not in met:
        met.append(widget)
        qtbot.keyClick(widget, Qt.Key.Key_Tab)
    stops = [page.operation_dock.box, size, page.picture_view.canvas, kernels.table, kernels.device]
    assert [widget for widget in met if widget in stops] == stops
    assert met[1] is size


@pytest.mark.parametrize(
    ("typed", "value"), [("1.5", 1.5), ("-20", -20.0), ("1,5", 30.0), ("", 30.0), ("1e9", 30.0)]
)
def test_that_a_number_with_a_comma_is_refused_in_words_and_not_read_as_another(qtbot, typed, value):
    operation = OPERATIONS["hue-shift"]
    controls = ParameterControls(operation, {operation.parameters[0].name: 30.0})
    qtbot.addWidget(controls)
    (box,) = controls.controls.values()
    words = []
    controls.refused.connect(words.append)
    box.selectAll()
    qtbot.keyClicks(box, typed or "\b")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.value() == value
    assert bool(words) == (value == 30.0)
    if typed == "1,5":
        assert "'1,5' is not" in words[0]
        assert words[0].endswith("Use a point: 1.5.")
