"""The page Matrices in the whole window, around a fake engine."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QWidget

from engine.course.papers import PAPERS
from engine.results.columns import machine_document, results_csv, results_document
from engine.results.metrics import compared
from engine.results.text_forms import json_text
from engine.tasks.product.problem import MatrixProduct, tile_of
from engine.tasks.read_results import results_from_document
from tests.gui.made_window import made, shown_page
from tests.made_runs import made_product, made_rows


@pytest.fixture
def opened(haloscope, qtbot):
    """The window with the page Matrices in front, and the page."""
    page = shown_page(haloscope.window, "matrices", qtbot)
    qtbot.waitUntil(lambda: bool(haloscope.matmul.results()))
    haloscope.window.activateWindow()
    qtbot.waitUntil(haloscope.window.isActiveWindow)
    return haloscope, page


def status(haloscope):
    return haloscope.window.status_line.last.text()


def test_that_f5_shows_a_product_wherever_runs_are_shown(opened, qtbot):
    haloscope, page = opened
    assert haloscope.actions["run"].isEnabled()
    qtbot.keyClick(haloscope.window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: haloscope.matmul.results()[-1].is_proven and not haloscope.state.running)
    told = page.findChild(QWidget, "tile plot").accessibleDescription()
    assert "matmul-tiled limit at 86.4 GB/s: 4: 86.4" in told
    page.results_panel.table.copy(every=True)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].startswith("Variant\tTile\tKernel, ms\tGFLOPS\tCGMA")
    assert len(lines) == 10
    assert lines[-1].startswith("numpy (BLAS)\t–\t2\t1073.74\t")
    last = status(haloscope)
    assert last.startswith("Last product: numpy (BLAS), 1024 × 1024 × 1024, 2.00 ms, 1,074 GFLOPS, verified")
    # It names its size, so it stays true when another is chosen.
    haloscope.matmul.change(product=MatrixProduct(64, 64, 64))
    assert status(haloscope) == last
    haloscope.window.show_page("explore")
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: not haloscope.state.running and haloscope.results.rowCount() == 1)
    assert status(haloscope) != last
    haloscope.window.show_page("matrices")
    assert status(haloscope) == last


def test_that_products_are_saved_as_the_command_line_does_without_mere_counts(opened, tmp_path):
    haloscope, _ = opened
    rows = made_rows(haloscope.matmul.settings.product, (8, 16), cuda=True)
    haloscope.matmul.set_listed(rows)
    assert not haloscope.actions["save_results"].isEnabled()
    for row in (rows[1], rows[-1]):
        haloscope.matmul.add(made_product(row))
    for suffix in ("csv", "json"):
        haloscope.actions["save_results"].trigger()
        dialog = haloscope.files.dialog
        assert dialog.selectedFiles()[0].endswith("product-1024x1024x1024-results.csv")
        haloscope.files.dialog.fileSelected.emit(str(tmp_path / f"products.{suffix}"))
        haloscope.files.dialog.reject()
        assert haloscope.window.message_bar.text == f"2 results saved as {tmp_path}/products.{suffix}."
    runs = [run for run in compared(haloscope.matmul.results(), "numpy") if not run.result.no_speed]
    assert (tmp_path / "products.csv").read_bytes().decode() == results_csv(runs, "numpy")
    written = json.loads((tmp_path / "products.json").read_text())
    machine = machine_document(haloscope.state.devices, {}, "")
    assert written == json.loads(json_text(results_document(runs, "numpy", machine)))
    assert [result.variant for result in results_from_document(written)] == ["matmul-naive", "numpy"]


def test_that_what_is_typed_is_multiplied_without_enter_unless_it_is_refused(opened, qtbot):
    haloscope, page = opened
    panel, run = made(page, "product"), haloscope.window.top_bar.findChild(QAbstractButton, "primary")

    def type_and_run(side, tiles, *, by_button=False):
        for field, text in ((panel.tiles.field, tiles), (panel.rows, side)):
            field.setFocus()
            field.selectAll()
            qtbot.keyClicks(field, text)
        if by_button:
            qtbot.mouseClick(run, Qt.MouseButton.LeftButton)
        else:
            qtbot.keyClick(haloscope.window, Qt.Key.Key_F5)

    type_and_run("1024", "4, 40")
    assert not haloscope.state.running
    assert panel.tiles.refusal.isVisible()
    assert panel.tiles.field.text() == "4, 40"
    type_and_run("12000", "4")
    assert not haloscope.state.running
    assert panel.refusal.text().startswith("Rows of the matrices did not change: ")
    for side, tile, by_button in ((300, 5, False), (200, 7, True)):
        type_and_run(str(side), str(tile), by_button=by_button)
        qtbot.waitUntil(lambda: bool(haloscope.matmul.results()) and haloscope.matmul.results()[-1].is_proven)
        qtbot.waitUntil(lambda: not haloscope.state.running)
        assert not panel.refusal.isVisible()
        assert haloscope.matmul.settings.product == MatrixProduct(side, side, side)
        assert [tile_of(row) for row in haloscope.matmul.results()] == [tile, tile, None]


def test_that_what_cannot_run_is_told_with_the_simulator_as_a_way_out_that_runs_it(opened, qtbot):
    haloscope, page = opened
    results = page.results_panel
    assert results.reasons.text() == "matmul-naive, matmul-tiled cannot run: No NVIDIA driver"
    assert results.try_small.isVisible()
    results.try_small.click()
    qtbot.waitUntil(lambda: bool(haloscope.matmul.results()) and not haloscope.state.running)
    assert haloscope.matmul.settings.product == MatrixProduct(16, 16, 16)
    assert all(row.is_proven for row in haloscope.matmul.results())
    assert not results.try_small.isVisible()
    assert not results.reasons.isVisible()


def test_that_settings_wait_for_a_run(opened, qtbot):
    haloscope, page = opened
    haloscope.link._client.automatic = False
    haloscope.actions["run"].trigger()
    panel = made(page, "product")
    assert not panel.rows.isEnabled()
    assert not panel.tiles.isEnabled()
    haloscope.actions["cancel"].trigger()
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert panel.rows.isEnabled()
    haloscope.matmul.set_listed(made_rows(haloscope.matmul.settings.product, (4,))[:-1])
    assert not haloscope.actions["run"].isEnabled()
    haloscope.link._client.automatic = True
    product = haloscope.matmul.settings.product
    haloscope.matmul.change(device="simulator")
    haloscope.state.set_status("restarting")
    haloscope.matmul.add(made_product(made_rows(product, (8,), "simulator")[1]))
    assert status(haloscope).startswith("Last product: matmul-tiled, tile 8, 1024 × 1024 × 1024, verified")
    assert status(haloscope).endswith("simulated, so its times mean nothing")
    haloscope.matmul.add(made_rows(product, (8,))[0])
    assert "matmul-naive, tile 8, 1024 × 1024 × 1024: No NVIDIA driver" in status(haloscope)


def test_that_a_papers_product_is_loaded_with_its_tile_alone_unless_a_run_goes_on(haloscope, qtbot):
    page = haloscope.window.page_of("matrices")
    for variant in ("matmul-naive", "matmul-tiled"):
        known = (kernel for paper in PAPERS for kernel in paper.kernels if kernel.variant == variant)
        kernel = next(kernel for kernel in known if kernel.block)
        haloscope.window.show_page("course")
        haloscope.matmul.change(tiles=(2, 3))
        haloscope.window.offer(kernel)
        assert haloscope.window.page is page
        assert haloscope.matmul.settings.tiles == (kernel.block.x,)
        qtbot.waitUntil(lambda: len(haloscope.matmul.results()) == 3)
        marked = [index.row() for index in page.results_panel.table.selectionModel().selectedRows()]
        assert [haloscope.matmul.results()[at].variant for at in marked] == [variant]
    haloscope.matmul.change(tiles=(4, 12))
    assert haloscope.matmul.loaded is None
    haloscope.matmul.set_running(True)
    haloscope.window.offer(kernel)
    haloscope.matmul.set_running(False)
    assert haloscope.matmul.settings.tiles == (4, 12)
    assert "matmul-tiled was not loaded" in haloscope.messages.newest.what
