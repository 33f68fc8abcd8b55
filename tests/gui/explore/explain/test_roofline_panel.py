"""The panel Roofline: runs under roofs, a click on one, files, and words where it is empty."""

import math
import xml.etree.ElementTree as ET

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage

from engine.device_info import RECORDED
from engine.results.metrics import Compared
from engine.tasks.messages import RecordedRuns
from gui.explore.explain.roofline_panel import RooflinePanel
from gui.explore.explain.roofline_state import points_of
from tests.gui.made_explained import WITH_A_GPU, add_gpu_run, gpu_run, made_limits
from tests.gui.made_window import panel_of
from tests.made_runs import WORK, make_result


@pytest.fixture
def panel(explained, bench):
    """The panel with two runs on a GPU whose limits were measured."""
    bench.state.set_ready(WITH_A_GPU)
    bench.fake.limits = {"cuda:0": made_limits()}
    panel = explained(bench, RooflinePanel)
    add(bench, "naive", 0.4)
    add(bench, "tiled", 0.2)
    return panel


def add(bench, *given, **fields):
    result = add_gpu_run(bench.results, bench.workspace, *given, **fields)
    bench.settle()
    return result


def test_that_a_point_says_its_numbers_and_its_share_of_the_roof_and_two_are_compared(bench, panel, results):
    point = panel.state.points[-1]
    work = point.run.result.work
    gflops, intensity = work.flops / 0.2e6, work.flops / work.minimum_bytes
    assert (point.gflops, point.intensity) == pytest.approx((gflops, intensity), rel=1e-12)
    # So small a picture is copied from the caches, at the rate of the smallest copy that was measured.
    assert point.share == pytest.approx(gflops * 1e9 / (6.0e12 * intensity), rel=1e-12)
    heard = panel.plot.accessibleDescription()
    assert "Run 2: tiled, 32 × 8: " in heard
    assert f"{100 * point.share:.2f} % of the roof of copies of this size"[:4] in heard
    tiled, naive = reversed(panel.state.points)
    assert panel.state.marked == (tiled,)
    panel.state.selection.compare_with("naive")
    bench.settle()
    assert panel.state.marked == (tiled, naive)
    assert "tiled (run 2) does 2.00 times the GFLOPS of naive (run 1)" in panel.caption.text()
    panel.state.selection.compare_with("cached")
    bench.settle()
    assert panel.state.marked == (tiled,)
    assert "cached" in panel.caption.text()
    many = make_result("naive", 1.0, work=replace(WORK, flops=10_000 * WORK.minimum_bytes))
    (point,) = points_of([Compared(many)], "cuda:0", made_limits())
    assert (point.roof, point.roof_name) == (pytest.approx(60_000.0), "multiply-adds")
    # A recorded run of a CPU does not stand under the roofs of the GPU.
    job = bench.workspace.filter_job()
    runs = tuple(gpu_run(job, variant, device=RECORDED) for variant in ("cpu-serial", "naive", "tiled"))
    bench.results.show_recorded(RecordedRuns(runs, ""))
    bench.results.describe(runs[1])
    bench.settle()
    assert [point.run.result.variant for point in panel.state.points] == ["naive", "tiled"]


def test_that_a_click_on_a_point_selects_its_row(haloscope, qtbot):
    page = haloscope.window.page_of("explore")
    first = add_gpu_run(haloscope.results, haloscope.workspace, "naive", 0.4)
    add_gpu_run(haloscope.results, haloscope.workspace, "tiled", 0.2)
    panel = panel_of(page, "roofline", qtbot)
    qtbot.waitUntil(lambda: len(page.roofline.points) == 2)
    qtbot.waitUntil(lambda: panel.plot.box.width() > 100)
    plot, point = panel.plot, page.roofline.points[0]
    at = QPointF(math.log10(point.intensity), math.log10(point.gflops))
    at = plot.mapFromScene(plot.box.mapViewToScene(at))
    qtbot.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert haloscope.results.described.result is first
    (row,) = page.results_panel.table.selectionModel().selectedRows()
    assert page.results_panel.table.runs([row.row()])[0].result is first


def test_that_the_plot_is_saved_in_a_size_of_its_own_and_has_the_runs_of_one_device(panel, bench):
    saved = []
    panel.state.save_wanted.connect(saved.append)
    panel.save_button.click()
    (drawing,) = saved
    image = QImage.fromData(drawing.file(".png"))
    assert (image.width(), image.height()) == (1920, 1200)
    assert len({image.pixel(x, image.height() // 2) for x in range(image.width())}) > 3
    root = ET.fromstring(drawing.file(".svg"))
    assert "copies 4,100 GB/s" in " ".join(root.itertext())
    # Marks are paths, which stay sharp.
    assert not root.findall(".//{*}image")
    work = panel.state.points[-1].run.result.work
    # At a tenth of the time that copies of its bytes take.
    add(bench, "cached", work.minimum_bytes / 6.0e12 * 1e3 / 10)
    assert "copies" not in {roof.name for roof in panel.state.roofs}
    assert {point.roof_name for point in panel.state.points} == {"multiply-adds"}
    assert panel.state.lacks_limits
    assert panel.note.text()
    add(bench, "cpu-parallel", 3.0, device="cpu", block=None)
    assert [point.run.result.variant for point in panel.state.points] == ["cpu-parallel"]
