import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDockWidget,
    QLabel,
    QScrollArea,
    QWidget,
)

from engine.course.papers import PAPERS
from engine.errors import BadValue
from engine.geometry.border import Border
from engine.host.protocol import Preview
from engine.tasks.product.problem import MatrixProduct
from gui.matrices.results_panel import MatmulResultsPanel
from gui.shell.pages import PAGES
from gui.style.theme import apply_theme
from tests.gui.shell.test_main_window import shown, width_of_words
from tests.made_products import made_product, made_rows

POSITION = next(number for number, entry in enumerate(PAGES) if entry.key == "matrices")


@pytest.fixture(autouse=True)
def _light_again(qapp):
    yield
    apply_theme(qapp, "light")


@pytest.fixture
def open_page(open_window, qtbot):
    """Make the window with the page Matrices in front; returns Haloscope and the page."""

    def make(*arguments, **options):
        haloscope = open_window(*arguments, **options)
        haloscope.window.show_page("matrices")
        qtbot.waitUntil(lambda: bool(haloscope.matmul.rows))
        page = haloscope.window.pages.currentWidget().findChild(QWidget, "matrices")
        return haloscope, page

    return make


def test_that_the_page_is_built_when_it_is_first_shown_by_its_keys(open_window, qtbot):
    haloscope = open_window()
    assert haloscope.window.findChild(QWidget, "matrices") is None
    assert haloscope.matmul.rows == ()
    qtbot.keyClick(haloscope.window, Qt.Key(Qt.Key.Key_1 + POSITION), Qt.KeyboardModifier.AltModifier)
    # A button that is pressed by its keys is seen to go down, for a tenth of a second.
    qtbot.waitUntil(lambda: haloscope.window.pages.currentIndex() == POSITION)
    qtbot.waitUntil(lambda: len(haloscope.matmul.rows) == 9)
    qtbot.keyClick(haloscope.window, Qt.Key.Key_1, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: haloscope.window.pages.currentIndex() == 0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", ["counted", "measured", "simulated", "refused"])
def test_that_the_page_fits_a_small_screen_and_no_word_is_cut(open_page, qtbot, theme, state):
    haloscope, page = open_page((1280, 800), theme)
    if state == "measured":
        rows = made_rows(haloscope.matmul.settings.product, haloscope.matmul.settings.tiles, cuda=True)
        haloscope.matmul.set_counted(rows)
        for number, row in enumerate(rows, start=1):
            haloscope.matmul.add(made_product(row, 0.0123 * number))
    if state == "simulated":
        page.results_panel.try_small.click()
        qtbot.waitUntil(lambda: len(haloscope.matmul.rows) == 7)
    if state == "refused":
        page.product_panel.tiles.field.setText("4, 40")
        page.product_panel.tiles.field.editingFinished.emit()
    QApplication.processEvents()
    assert (haloscope.window.width(), haloscope.window.height()) == (1280, 800)
    for kind in (QAbstractButton, QComboBox, QLabel):
        for widget in shown(page, kind):
            text = widget.currentText() if isinstance(widget, QComboBox) else widget.text()
            assert widget.width() >= width_of_words(widget), text
    for panel in (page.product_panel, page.lecture_panel):
        for area in panel.findChildren(QScrollArea):
            assert area.verticalScrollBar().maximum() == 0
    header = page.results_panel.table.horizontalHeader()
    assert header.length() <= header.width()
    assert page.results_panel.table.verticalScrollBar().maximum() == 0


def test_that_every_control_has_a_tooltip_and_a_name(open_page):
    _, page = open_page()
    panel = page.product_panel
    for control in (panel.rows, panel.inner, panel.columns, panel.device, panel.tiles.field):
        assert control.toolTip()
        assert control.accessibleName()
    for button in (*shown(page.product_panel, QAbstractButton), page.results_panel.try_small):
        assert button.toolTip(), button.text()


def test_that_f5_multiplies_and_fills_table_and_plot(open_page, qtbot):
    haloscope, page = open_page()
    assert haloscope.actions["run"].isEnabled()
    qtbot.keyClick(haloscope.window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: haloscope.matmul.rows[-1].is_proven and not haloscope.state.running)
    assert "numpy (BLAS) here" in page.findChild(QWidget, "tile plot").accessibleDescription()
    assert (
        "matmul-tiled limit at 86.4 GB/s: 4: 86.4"
        in page.findChild(QWidget, "tile plot").accessibleDescription()
    )


@pytest.mark.parametrize("by", ["key", "click"])
def test_that_what_is_typed_is_multiplied_without_enter(open_page, qtbot, by):
    haloscope, page = open_page()
    panel = page.product_panel
    for field, text in ((panel.rows, "300"), (panel.tiles.field, "5, 6")):
        # Focus stays where it is: nothing but the run itself has the text taken.
        field.selectAll()
        qtbot.keyClicks(field, text)
    if by == "key":
        qtbot.keyClick(haloscope.window, Qt.Key.Key_F5)
    else:
        run = haloscope.window.top_bar.findChild(QAbstractButton, "primary")
        qtbot.mouseClick(run, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(haloscope.matmul.rows) and haloscope.matmul.rows[-1].is_proven)
    assert haloscope.matmul.settings.product == MatrixProduct(300, 300, 300)
    assert [row.tile for row in haloscope.matmul.rows] == [5, 6, 5, 6, None]


def test_that_nothing_is_multiplied_while_a_tile_is_refused(open_page, qtbot):
    haloscope, page = open_page()
    tiles = page.product_panel.tiles
    tiles.field.setFocus()
    tiles.field.selectAll()
    qtbot.keyClicks(tiles.field, "4, 40")
    qtbot.keyClick(haloscope.window, Qt.Key.Key_F5)
    assert not haloscope.state.running
    assert tiles.refusal.isVisible()
    assert tiles.field.text() == "4, 40"


def test_that_nothing_is_multiplied_while_a_side_is_refused(open_page, qtbot):
    haloscope, page = open_page()
    panel = page.product_panel
    panel.rows.setFocus()
    panel.rows.selectAll()
    qtbot.keyClicks(panel.rows, "12000")
    qtbot.keyClick(haloscope.window, Qt.Key.Key_F5)
    assert not haloscope.state.running
    assert panel.refusal.text() == (
        "Rows of the matrices did not change: '12000' is not a whole number from 1 to 8192."
    )
    qtbot.keyClicks(panel.rows, "3")
    assert not panel.refusal.isVisible()


def test_that_what_cannot_run_is_told_with_the_simulator_as_a_way_out_that_runs_it(open_page, qtbot):
    haloscope, page = open_page()
    results = page.results_panel
    assert results.reasons.text() == "matmul-naive, matmul-tiled: No NVIDIA driver was found"
    assert results.try_small.isVisible()
    results.try_small.click()
    qtbot.waitUntil(lambda: bool(haloscope.matmul.rows) and not haloscope.state.running)
    assert haloscope.matmul.settings.product == MatrixProduct(16, 16, 16)
    assert all(row.is_proven for row in haloscope.matmul.rows)
    assert not results.try_small.isVisible()
    assert not results.reasons.isVisible()
    note = "Matrices up to 64 x 64. For checking results, not speed."
    assert page.product_panel.device_note.text() == note


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("4, 40", "tile 40: a tile's side is a whole number from 2 to 32. The nearest legal tile is 32."),
        ("x", "The nearest legal tile is 16."),
        ("2.5", "The nearest legal tile is 2."),
        (" , ", "Write at least one tile, 2 to 32."),
    ],
)
def test_that_what_is_no_tile_is_refused_in_words_and_nothing_changes(open_page, text, says):
    haloscope, page = open_page()
    tiles = page.product_panel.tiles
    tiles.field.setText(text)
    tiles.field.editingFinished.emit()
    assert says in tiles.refusal.text()
    assert tiles.refusal.isVisible()
    assert haloscope.matmul.settings.tiles == (4, 8, 16, 32)
    tiles.field.setText("16, 4;4")
    tiles.field.editingFinished.emit()
    assert not tiles.refusal.isVisible()
    assert haloscope.matmul.settings.tiles == (4, 16)
    assert tiles.field.text() == "4, 16"


def test_that_sizes_can_differ_once_the_product_is_not_square(open_page):
    haloscope, page = open_page()
    panel = page.product_panel
    assert not panel.inner.isEnabled()
    panel.square.click()
    panel.rows.setValue(17)
    panel.inner.setValue(33)
    panel.columns.setValue(5)
    assert haloscope.matmul.settings.product == MatrixProduct(17, 33, 5)
    assert panel.facts.text().startswith("A 17 x 33 · B 33 x 5\n5,610 operations")
    panel.rows.stepUp()
    assert panel.rows.value() == 34


def test_that_the_table_can_be_copied(open_page, qtbot):
    haloscope, page = open_page()
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.matmul.rows[-1].is_proven)
    page.results_panel.copy_button.click()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].startswith("Variant\tTile\tKernel, ms\tGFLOPS\tCGMA")
    assert len(lines) == 10
    assert lines[-1].startswith("numpy (BLAS)\t–\t2\t1073.74\t")
    assert lines[-1].endswith("verified")


def test_that_the_settings_wait_while_a_run_goes_on(open_page, qtbot):
    haloscope, page = open_page()
    haloscope.link._client.automatic = False
    haloscope.actions["run"].trigger()
    panel = page.product_panel
    assert not panel.rows.isEnabled()
    assert not panel.tiles.isEnabled()
    assert haloscope.actions["cancel"].isEnabled()
    haloscope.actions["cancel"].trigger()
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert panel.rows.isEnabled()


def test_that_run_says_why_nothing_can_be_multiplied(open_page):
    haloscope, _ = open_page()
    haloscope.matmul.set_counted(made_rows(haloscope.matmul.settings.product, (4,))[:-1])
    assert not haloscope.actions["run"].isEnabled()
    assert "Nothing can run here; the table says why." in haloscope.actions["run"].toolTip()


def test_that_the_layout_of_the_page_is_kept_also_when_it_was_not_shown(open_page, open_window, tmp_path):
    path = tmp_path / "preferences.json"
    haloscope, page = open_page(preferences_path=path)
    page.findChild(QDockWidget, "lecture").close()
    haloscope.window.close()
    kept = json.loads(path.read_text())["layouts"]["matrices"]
    second = open_window(theme="", preferences_path=path)
    second.window.close()
    assert json.loads(path.read_text())["layouts"]["matrices"] == kept
    _, page = open_page(theme="", preferences_path=path)
    assert not page.findChild(QDockWidget, "lecture").isVisible()
    page.restore_default()
    assert page.findChild(QDockWidget, "lecture").isVisible()


def test_that_the_lectures_numbers_stand_beside_those_of_the_device(open_page):
    _, page = open_page()
    text = page.lecture_panel.text.text()
    for words in ("86.4", "21.6", "345.6", "347.6", "misprint", "bandwidth", "CGMA"):
        assert words in text


@pytest.mark.parametrize("variant", ["matmul-naive", "matmul-tiled"])
def test_that_a_papers_product_is_loaded_with_its_tile_alone_and_its_row_is_marked(
    open_window, qtbot, variant
):
    haloscope = open_window()
    haloscope.actions["page:course"].trigger()
    kernel = next(
        kernel
        for paper in PAPERS
        for kernel in paper.kernels
        if kernel.here.variant == variant and kernel.here.block
    )
    haloscope.matmul.change(tiles=(2,))
    haloscope.courses.load(kernel)
    assert haloscope.window.pages.currentIndex() == POSITION
    assert haloscope.matmul.settings.tiles == (kernel.here.block.x,)
    qtbot.waitUntil(lambda: len(haloscope.matmul.rows) == 3)
    panel = haloscope.window.pages.currentWidget().findChild(MatmulResultsPanel)
    marked = [index.row() for index in panel.table.selectionModel().selectedRows()]
    assert [haloscope.matmul.rows[at].variant for at in marked] == [variant]


def test_that_run_is_the_one_main_button_of_each_page(open_page):
    haloscope, _ = open_page()
    for key in ("matrices", "course", "explore"):
        haloscope.window.show_page(key)
        buttons = shown(haloscope.window, QAbstractButton)
        primary = [
            button.defaultAction().objectName() for button in buttons if button.objectName() == "primary"
        ]
        assert primary == ["run"]


def test_that_copying_is_told_on_the_page_where_it_was_done(open_page):
    haloscope, page = open_page()
    page.results_panel.copy_button.click()
    assert haloscope.window.message_bar.text == "9 rows copied."
    haloscope.window.show_page("explore")
    assert haloscope.window.message_bar.isHidden()


def test_that_an_error_of_explore_is_not_shown_on_another_page(open_page, qtbot):
    haloscope, _ = open_page()
    haloscope.link._client.automatic = False
    haloscope.workspace.change(border=Border.WRAP)
    qtbot.waitUntil(lambda: bool(haloscope.link._client.waiting(Preview)))
    asked = haloscope.link._client.waiting(Preview)[0]
    haloscope.link._client.fail(BadValue("naive cannot run", "there is no GPU", "Choose another."), asked)
    qtbot.waitUntil(lambda: haloscope.state.result_is_earlier)
    assert haloscope.window.message_bar.isHidden()
    haloscope.window.show_page("explore")
    assert haloscope.window.message_bar.text.startswith("Naive cannot run.")
    haloscope.window.show_page("course")
    assert haloscope.window.message_bar.isHidden()


def status(haloscope):
    return haloscope.window.status_line.last_run


def test_that_the_status_line_says_of_each_page_what_to_press_there(open_page, qtbot):
    haloscope, _ = open_page()
    assert status(haloscope) == (
        "No product yet: press Run (Ctrl+R) to measure and verify. Only numpy (BLAS) can run here; "
        "the table says why."
    )
    haloscope.matmul.change(device="simulator", product=MatrixProduct(16, 16, 16))
    assert status(haloscope) == "No product yet: counting what can run here."
    qtbot.waitUntil(lambda: len(haloscope.matmul.runnable) == 9)
    assert status(haloscope) == "No product yet: press Run (Ctrl+R) to measure and verify."
    haloscope.window.show_page("course")
    assert "Measure on this machine" in status(haloscope)
    haloscope.window.show_page("explore")
    assert status(haloscope) == "No run yet: press Run (Ctrl+R) to measure and verify."


def test_that_the_status_line_waits_for_the_engine_on_the_page(open_window):
    haloscope = open_window()
    haloscope.window.show_page("matrices")
    haloscope.matmul.change(device="simulator")
    haloscope.state.set_status("restarting")
    assert status(haloscope) == "No product yet: matrices are multiplied once the engine is up."


def test_that_the_status_line_names_the_device_of_the_page(open_page):
    haloscope, _ = open_page()
    engine = haloscope.window.status_line.findChild(QLabel)
    assert engine.text() == "Engine: CPU, 2 cores, ready"
    haloscope.matmul.change(device="simulator")
    assert engine.text() == "Engine: CUDA simulator, ready"
    haloscope.window.show_page("explore")
    assert engine.text() == "Engine: CPU, 2 cores, ready"


def test_that_the_last_product_is_told_on_its_page_and_the_last_run_on_explore(open_page, qtbot):
    haloscope, _ = open_page()
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.matmul.rows[-1].is_proven and not haloscope.state.running)
    told = status(haloscope)
    assert told.startswith(
        "Last product: numpy (BLAS), 1024 x 1024 x 1024, 2.00 ms, 1,074 GFLOPS, verified on every"
    )
    # It names its size, so it stays true when another is chosen.
    haloscope.matmul.change(product=MatrixProduct(64, 64, 64))
    assert status(haloscope) == told
    haloscope.window.show_page("explore")
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: not haloscope.state.running and haloscope.results.rowCount() == 1)
    assert status(haloscope).startswith("Last run: CPU")
    haloscope.window.show_page("matrices")
    assert status(haloscope) == told


def test_that_a_simulated_and_a_failed_product_are_told_without_a_time(open_page):
    haloscope, _ = open_page()
    product = haloscope.matmul.settings.product
    row = made_rows(product, (8,), "simulator")[1]
    haloscope.matmul.add(made_product(row))
    assert status(haloscope).startswith(
        "Last product: matmul-tiled, tile 8, 1024 x 1024 x 1024, verified on every"
    )
    assert status(haloscope).endswith("simulated: its times mean nothing")
    haloscope.matmul.add(made_rows(product, (8,))[0])
    assert "matmul-naive, tile 8, 1024 x 1024 x 1024: variant" in status(haloscope)
    assert "No NVIDIA driver was found" in status(haloscope)
