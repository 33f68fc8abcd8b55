"""The panel Tile: cells reached by mouse and keys, colours, blocks, words where there is no tile."""

import itertools

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from engine.explain.messages import TileRequest
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from gui.explore.explain.tile_painter import (
    ColourBy,
    accesses,
    cell_name,
    cell_sentence,
    colours_of,
    legend_of,
    role_masks,
    summary,
    use_sentence,
)
from gui.explore.explain.tile_panel import TileGrid, TilePanel
from gui.style.theme import DARK, LIGHT, contrast


@pytest.fixture
def grid(show_widget):
    return show_widget(TileGrid(), 300, 300)


@pytest.fixture
def panel(explained, bench):
    """The panel, with a tiled kernel of 8 x 8 threads."""
    return explained(bench, TilePanel, variant="tiled", block=Block(8, 8))


# Block, which of them, mask and picture: a kernel that several tests look at is compiled once.
CACHED = (8, 8), (0, 0), (5, 5), (21, 30)


def place(grid, row, column):
    return grid.visualRect(grid.texts.index(row, column))


def test_that_each_cell_has_one_role_and_numbers_on_its_colour_have_contrast(tile_of):
    (plan,) = tile_of("cached", *CACHED)
    masks = list(role_masks(plan).values())
    assert (sum(mask.astype(int) for mask in masks) == 1).all()
    texts = [entry.text for entry in legend_of(plan, ColourBy.ROLE, LIGHT)]
    assert texts == ["own cells, loaded", "read from global memory", "ghost cells"]
    (plan,) = tile_of("row-tiled", (8, 1))
    texts = [entry.text for entry in legend_of(plan, ColourBy.STEP, LIGHT)]
    assert texts[:3] == ["step 1", "step 2", "step 3"]
    for key in ("row-tiled", "row-cached"):
        (plan,) = tile_of(key, (8, 1))
        for theme, by in itertools.product((LIGHT, DARK), ColourBy):
            for colour in colours_of(plan, by, theme).reshape(-1, 3).tolist():
                assert contrast(QColor(*colour), QColor(theme.text)) >= 4.5
            assert len(legend_of(plan, by, theme)) >= 2


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


@pytest.mark.slow
def test_that_the_panel_follows_what_is_set_and_another_block_of_the_grid_can_be_chosen(enter, bench, panel):
    panel.across.setValue(0)
    panel.down.setValue(0)
    bench.settle()
    assert panel.used.text().startswith("P[0, 0] uses N[-2, -2] to N[2, 2] (25 cells); 16 of them are ghost")
    assert "ghost cells" in panel.legend.accessibleDescription()
    enter(panel.down, "99")
    assert panel.refusal.text() == "Block down did not change: '99' is not a whole number from 0 to 4."
    assert panel.refusal.isVisible()
    for block in (Block(16, 4), Block(8, 8)):
        bench.change(block=block)
    assert panel.state.plan.block == Block(8, 8)
    assert panel.used.text().startswith("P[8, 8] uses N[6, 6] to N[10, 10] (25 cells)")
    assert panel.summary.text().startswith("64 results use 25 cells each: 1,600 accesses become 144 loads")
    bench.change(block=Block(16, 4))
    assert panel.state.plan.block == Block(16, 4)
    assert panel.grid.plan.shape == (8, 20)
    assert panel.grid_size.text() == "of 3 × 9"
    bench.workspace.set_mask(Mask([[1.0] * 3]))
    bench.settle()
    assert panel.used.text().startswith("P[16] uses N[15] to N[17]. Thread (0, 0) writes it, in row 4.")
    asked = len(bench.asked(TileRequest))
    panel.state.watch(False)
    bench.change(block=Block(8, 8))
    assert len(bench.asked(TileRequest)) == asked


@pytest.mark.slow
def test_that_passes_and_colours_can_be_chosen_and_a_selected_kernel_has_its_tile(qtbot, bench, panel):
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
    bench.change(variant="cpu-serial", block=None)
    assert "no blocks of threads" in panel.stack.text

    for block, wanted in ((None, "32 × 8"), (Block(8, 8), "8 × 8")):
        panel.state.selection.select("tiled")
        bench.change(block=block)
        assert (panel.state.answer.variant, str(panel.state.plan.block)) == ("tiled", wanted)
    bench.change(block=Block(64, 64))
    assert "the limit is 1,024 threads" in panel.stack.text
    # What runs is still what was chosen.
    assert bench.workspace.settings.variant == "cpu-serial"


def test_that_the_lectures_tile_of_8_loads_12_cells_instead_of_40_and_fewer_at_the_edge(tile_of):
    (plan,) = tile_of("row-tiled", (8, 1), (1, 0))
    assert summary(plan) == "8 results use 5 cells each: 40 accesses become 12 loads (3.33 times fewer)."
    # Simpler tiled: the own 8, and of the halo 2 + 1 cells on either side, each time.
    (plan,) = tile_of("row-cached", (8, 1), (1, 0))
    assert (plan.loads, plan.direct_reads) == (8, 6)
    (plan,) = tile_of("row-naive", (8, 1), (1, 0))
    assert summary(plan) == (
        "8 results use 5 cells each: 40 loads from global memory, and nothing is kept in shared memory."
    )
    """The lecture's kernel asks `if (N_index >= 0 ...)` before it reads: 37 of 40, so 3.7 and not 4 times."""
    (plan,) = tile_of("row-tiled", (8, 1))
    assert summary(plan) == (
        "8 results use 5 cells each; 3 of these 40 lie outside the picture and are not read: "
        "37 accesses become 10 loads (3.7 times fewer)."
    )
    (naive,) = tile_of("row-naive", (8, 1))
    assert "37 loads from global memory" in summary(naive)
    (plan,) = tile_of("tiled", (8, 8), mask=(5, 5), size=(32, 32))
    assert "1,369 accesses become 100 loads (13.7 times fewer)." in summary(plan)
    # A border that repeats cells of the picture reads them.
    (plan,) = tile_of("row-tiled", (8, 1), border=Border.REFLECT)
    assert summary(plan).startswith("8 results use 5 cells each: 40 accesses become 12 loads")


def test_that_each_cell_says_its_loader_and_which_results_use_it_as_the_lecture_does(tile_of):
    (plan,) = tile_of("row-tiled", (8, 1), (1, 0))
    assert cell_sentence(plan, 0, 0) == (
        "N[6]: halo. Thread (6, 0) loads it in step 1. In this block P[8] uses it."
    )
    assert "N[8]: own cell. Thread (0, 0) loads it in step 2." in cell_sentence(plan, 0, 2)
    assert "N[17]: halo. Thread (1, 0) loads it in step 3." in cell_sentence(plan, 0, 11)
    (plan,) = tile_of("row-tiled", (8, 1))
    assert cell_sentence(plan, 0, 4).startswith("N[2]: own cell.")
    assert cell_sentence(plan, 0, 4).endswith(" In this block P[0] to P[4] use it.")
    assert cell_sentence(plan, 0, 11).endswith(" In this block P[7] uses it.")
    (plan,) = tile_of("tiled", (8, 8), mask=(5, 5), size=(32, 32))
    said = " In this block P[2, 2] to P[6, 6] use it."
    assert cell_sentence(plan, 6, 6).endswith(said)
    (cached,) = tile_of("cached", *CACHED)
    (blocked,) = tile_of("register-blocked", (32, 4), mask=(3, 5), size=(21, 40), channels=3, dtype="float32")
    for plan in (cached, blocked):
        rows, columns = plan.shape
        for row, column in ((0, 0), (2, 4), (4, columns - 6), (rows - 1, columns - 1)):
            using = [
                (i, j)
                for i in range(plan.writers.shape[0])
                for j in range(plan.writers.shape[1])
                if row in range(plan.shape[0])[plan.window(i, j)[0]]
                and column in range(plan.shape[1])[plan.window(i, j)[1]]
            ]
            names = [cell_name(plan, "P", *plan.result_place(*at)) for at in using]
            one = names[0] if names else "no result"
            said = f"{one} to {names[-1]} use it." if len(names) > 1 else f"{one} uses it."
            assert cell_sentence(plan, row, column).endswith(f" In this block {said}")


def test_that_ghost_cells_are_named_and_counting_all_windows_at_once_is_counting_one_after_the_other(tile_of):
    (plan,) = tile_of("row-tiled", (8, 1))
    assert use_sentence(plan, 0, 0).startswith("P[0] uses N[-2] to N[2]; 2 of them are ghost cells.")
    assert use_sentence(plan, 0, 1).startswith("P[1] uses N[-1] to N[3]; 1 of them is a ghost cell.")
    said = "N[-2]: ghost cell, the border's value in its place. Thread (6, 0) fills it in step 1."
    assert cell_sentence(plan, 0, 0).startswith(said)
    (plan,) = tile_of("row-tiled", (8, 1), border=Border.REFLECT)
    assert "ghost cell, N[1] in its place. Thread (6, 0) loads it" in cell_sentence(plan, 0, 0)
    (plan,) = tile_of("cached", *CACHED)
    assert "the border's value in its place. In this block" in cell_sentence(plan, 0, 0)
    for key in ("cached", "naive", "tiled"):
        for at in ((0, 0), (1, 1), (3, 2)):
            (plan,) = tile_of(key, CACHED[0], at, *CACHED[2:])
            counted = 0
            for i in range(plan.writers.shape[0]):
                for j in range(plan.writers.shape[1]):
                    window = plan.window(i, j)
                    counted += (~plan.ghosts[window]).sum()
            assert accesses(plan) == counted
