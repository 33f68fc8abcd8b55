"""The panel Tile: cells reached by mouse and keys, colours, blocks, words where there is no tile."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from engine.explain.messages import TileRequest
from engine.geometry.block import Block
from engine.mask.mask import Mask
from gui.explore.explain.selection import Selection
from gui.explore.explain.tile_grid import TileGrid
from gui.explore.explain.tile_painter import ColourBy, colours_of, legend_of, role_masks
from gui.explore.explain.tile_panel import TilePanel
from gui.explore.explain.tile_state import TileState
from gui.style.theme import DARK, LIGHT
from tests.gui.fake_engine import is_kind


@pytest.fixture
def grid(qtbot):
    grid = TileGrid()
    qtbot.addWidget(grid)
    grid.resize(300, 300)
    grid.show()
    return grid


@pytest.fixture
def panel(qtbot, bench):
    """The panel on a bench, with a tiled kernel of 8 x 8 threads and a mask of 5 x 5."""
    bench.workspace.set_mask(Mask([[1.0] * 5] * 5))
    bench.change(variant="tiled", block=Block(8, 8))
    state = TileState(Selection(bench.workspace, bench.state, bench.results), bench.state, bench.link)
    panel = TilePanel(state)
    panel.tile = state
    qtbot.addWidget(panel)
    panel.resize(300, 600)
    panel.show()
    state.watch(True)
    bench.settle()
    return panel


def place(grid, row, column):
    return grid.visualRect(grid.texts.index(row, column))


def contrast(one, other):
    def light(colour):
        parts = [part / 255 for part in colour[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("by", ColourBy)
@pytest.mark.parametrize("key", ["row-tiled", "row-cached"])
def test_that_numbers_on_every_colour_have_contrast(tile_of, key, by, theme):
    from PySide6.QtGui import QColor

    (plan,) = tile_of(key, (8, 1))
    text = QColor(theme.text).getRgb()
    for colour in colours_of(plan, by, theme).reshape(-1, 3).tolist():
        assert contrast(colour, text) >= 4.5
    assert len(legend_of(plan, by, theme)) >= 2


def test_that_each_cell_has_one_role_of_the_legend(tile_of):
    (plan,) = tile_of("cached", (4, 4), mask=(3, 3), size=(9, 9))
    masks = list(role_masks(plan).values())
    assert (sum(mask.astype(int) for mask in masks) == 1).all()
    texts = [entry.text for entry in legend_of(plan, ColourBy.ROLE, LIGHT)]
    assert texts == ["own cells, loaded", "read from global memory", "ghost cells"]
    (plan,) = tile_of("row-tiled", (8, 1))
    texts = [entry.text for entry in legend_of(plan, ColourBy.STEP, LIGHT)]
    assert texts[:3] == ["step 1", "step 2", "step 3"]


def test_that_the_cell_under_the_mouse_is_described(grid, tile_of):
    (plan,) = tile_of("row-tiled", (8, 1), (1, 0))
    grid.show_plan(plan)
    assert grid.current == (0, 2)
    assert grid.sentences()[0].startswith("P[8] uses N[6] to N[10].")
    QTest.mouseMove(grid.viewport(), place(grid, 0, 5).center())
    assert grid.current == (0, 5)
    assert grid.accessibleDescription() == " ".join(grid.sentences())
    assert grid.sentences()[0].startswith("P[11] uses N[9] to N[13].")
    assert grid.texts.index(0, 5).data(Qt.ItemDataRole.AccessibleTextRole) == grid.sentences()[1]
    QTest.mouseMove(grid.viewport(), place(grid, 2, 9).center())
    assert grid.current == (0, 9), "a result lies under its own cell"
    grid.setCurrentIndex(grid.texts.index(0, 0))
    assert grid.sentences()[0] == "No result of this block lies here."
    assert grid.grab().toImage().width() == 300


def test_that_the_view_follows_the_arrow_keys_over_the_cells(qtbot, grid, tile_of):
    (plan,) = tile_of("tiled", (32, 8), mask=(5, 5), size=(64, 64))
    grid.show_plan(plan)
    grid.setFocus()
    for key, wanted in (
        (Qt.Key.Key_Home, (2, 0)),
        (Qt.Key.Key_PageUp, (0, 0)),
        (Qt.Key.Key_Left, (0, 0)),
        (Qt.Key.Key_Down, (1, 0)),
        (Qt.Key.Key_End, (1, 35)),
        (Qt.Key.Key_PageDown, (11, 35)),
    ):
        qtbot.keyClick(grid, key)
        assert grid.current == wanted
    fitting = grid.cell_size
    for _ in range(3):
        qtbot.keyClick(grid, Qt.Key.Key_Plus)
    assert grid.cell_size > fitting
    # The current cell, the last one, is in sight.
    assert grid.viewport().rect().contains(place(grid, 11, 35))
    qtbot.keyClick(grid, Qt.Key.Key_0)
    assert grid.cell_size == fitting
    for _ in range(9):
        qtbot.keyClick(grid, Qt.Key.Key_Minus)
    assert grid.cell_size == 6


def test_that_the_panel_follows_kernel_block_and_mask_while_somebody_looks(bench, panel):
    assert panel.tile.plan.block == Block(8, 8)
    assert panel.used.text().startswith("P[8, 8] uses N[6, 6] to N[10, 10] (25 cells)")
    assert panel.summary.text().startswith("64 results use 25 cells each: 1,600 accesses become 144 loads")
    bench.change(block=Block(16, 4))
    assert panel.tile.plan.block == Block(16, 4)
    assert panel.grid.plan.shape == (8, 20)
    assert panel.grid_size.text() == "of 3 × 9"
    bench.workspace.set_mask(Mask([[1.0] * 3]))
    bench.settle()
    assert panel.used.text().startswith("P[16] uses N[15] to N[17]. Thread (0, 0) writes it, in row 4.")
    asked = len([one for one in bench.fake.seen if is_kind(one, TileRequest)])
    panel._tile.watch(False)
    bench.change(block=Block(8, 8))
    assert len([one for one in bench.fake.seen if is_kind(one, TileRequest)]) == asked


def test_that_another_block_of_the_grid_can_be_chosen(qtbot, bench, panel):
    panel.across.setValue(0)
    panel.down.setValue(0)
    bench.settle()
    assert panel.used.text().startswith("P[0, 0] uses N[-2, -2] to N[2, 2] (25 cells); 16 of them are ghost")
    assert "ghost cells" in panel.legend.accessibleDescription()
    panel.down.selectAll()
    qtbot.keyClicks(panel.down, "99")
    qtbot.keyClick(panel.down, Qt.Key.Key_Return)
    assert panel.refusal.text() == "Block down did not change: '99' is not a whole number from 0 to 4."
    assert panel.refusal.isVisible()


def test_that_passes_and_colours_can_be_chosen(qtbot, bench, panel):
    assert panel.passes.isHidden()
    bench.change(variant="separable-l1")
    assert [panel.passes.itemText(at) for at in range(2)] == ["along the rows", "along the columns"]
    panel.passes.setCurrentIndex(1)
    panel.passes.activated.emit(1)
    assert panel.used.text().startswith("P[8, 8] uses S[6, 8] to S[10, 8].")
    panel.colours.setCurrentIndex(panel.colours.findData(ColourBy.STEP))
    assert panel.legend.accessibleDescription() == "step 1, step 2, step 3"
    panel.colours.setCurrentIndex(panel.colours.findData(ColourBy.THREAD))
    assert panel.legend.accessibleDescription() == "thread 0, thread 63"
    for widget in (panel.across, panel.down, panel.passes, panel.colours, panel.grid, panel.legend):
        assert widget.accessibleName()


def test_that_a_kernel_that_is_selected_and_not_run_has_its_tile_with_the_block_of_the_settings(bench, panel):
    bench.change(variant="cpu-serial", block=None)
    assert "no blocks of threads" in panel.stack.text

    for block, wanted in ((None, "32 × 8"), (Block(8, 4), "8 × 4"), (Block(16, 2), "16 × 2")):
        panel.tile.selection.select("cached")
        bench.change(block=block)
        assert (panel.tile.found.variant, str(panel.tile.plan.block)) == ("cached", wanted)
    bench.change(block=Block(64, 64))
    assert "the limit is 1,024 threads" in panel.stack.text
    # What runs is still what was chosen.
    assert bench.workspace.settings.variant == "cpu-serial"


def test_that_a_question_under_way_is_said_in_place_of_the_reason_before(qtbot, slow_bench):
    slow_bench.change(variant="cpu-serial")
    state = TileState(
        Selection(slow_bench.workspace, slow_bench.state, slow_bench.results),
        slow_bench.state,
        slow_bench.link,
    )
    panel = TilePanel(state)
    qtbot.addWidget(panel)
    state.watch(True)
    slow_bench.settle()
    assert panel.stack.text == "Finding out who loads which cell."
    slow_bench.answer_all(TileRequest)
    assert "no blocks of threads" in panel.stack.text
    state.selection.select("tiled")
    slow_bench.settle()
    assert panel.stack.text == "Finding out who loads which cell."
    slow_bench.answer_all(TileRequest)
    assert panel.stack.text == ""
