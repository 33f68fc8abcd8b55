"""The panel Explain: one head over its segments, and the whole page for it."""

from PySide6.QtCore import Qt

from engine.explain.launches import Architecture
from engine.geometry.block import Block, Refusal
from engine.host.request import Availability
from tests.gui.made_explained import add_gpu_run


def test_that_the_head_names_the_kernel_and_the_block_that_the_segment_in_front_is_about(haloscope):
    page = haloscope.window.page
    page.selection.select("tiled")
    known = page.selection.known
    assert page.explain_head.kernel.text() == f"{known.title}, block {page.selection.block}"
    page.selection.select("cpu-serial")
    assert page.explain_head.kernel.text() == page.selection.known.title
    run = add_gpu_run(page.results, page.workspace, "tiled")
    page.results.describe(run)
    page.workspace.change(block=Block(2000, 8))
    head, title = page.explain_head.kernel, page.selection.known.title
    page.bring_to_front("why")
    assert head.text() == f"{title}, block {run.block}"
    page.bring_to_front("launch")
    assert head.text() == f"{title}, block 2000 × 8"


def test_that_run_runs_the_selected_kernel_and_another_is_chosen_for_all_segments(haloscope, qtbot):
    page, run, run_all = haloscope.window.page, *(haloscope.actions[name] for name in ("run", "run_all"))
    assert "Automatic" in run.toolTip()
    reason = Refusal("device", "No NVIDIA driver")
    haloscope.state.set_availability((Availability("tiled", reason),))
    page.selection.select("tiled")
    assert (run.isEnabled(), run_all.isEnabled()) == (False, True)
    assert str(reason) in run.toolTip()
    assert str(reason) in page.status.sentence
    page.selection.select("auto")
    assert run.isEnabled()
    page.bring_to_front("launch")
    page.explain_head.enlarge.click()
    assert page.panel("launch").isVisible()
    assert not any(page.panel(name).isVisible() for name in ("mask", "kernel", "results"))
    page.bring_to_front("tile")
    assert page.explain_head.enlarge.isChecked()
    page.bring_to_front("kernel")
    assert not page.explain_head.enlarge.isChecked()
    assert all(page.panel(name).isVisible() for name in ("mask", "kernel", "results", "tile"))
    page, head = haloscope.window.page, haloscope.window.page.explain_head
    page.selection.select("tiled")
    page.bring_to_front("launch")
    assert head.other.findData("tiled") == -1
    # Heads over the groups of so many kernels: no choices.
    model = head.other.model()
    flags = [model.flags(model.index(at, 0)) for at in range(model.rowCount())]
    heads = [head.other.itemText(at) for at, found in enumerate(flags) if not found]
    assert heads == list(dict.fromkeys(one.heading for one in page.selection.others))
    head.other.setCurrentIndex(head.other.findData("naive"))
    head.other.activated.emit(head.other.currentIndex())
    assert page.selection.other.key == "naive"
    head.gpu.setCurrentIndex(head.gpu.findText("sm_75", Qt.MatchFlag.MatchStartsWith))
    head.gpu.activated.emit(head.gpu.currentIndex())
    page.bring_to_front("code")
    assert (head.other.currentData(), head.gpu.isVisible()) == ("naive", True)
    assert page.code.architecture == Architecture(7, 5)
    head.swap.click()
    assert (page.selection.known.key, head.other.currentData()) == ("naive", "tiled")
    page.bring_to_front("roofline")
    assert (head.other.isVisible(), head.gpu.isVisible()) == (True, False)
