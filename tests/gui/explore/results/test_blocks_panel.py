import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from engine.geometry.block import Block, every_block
from engine.host.protocol import Availability
from gui.explore.explain.selection import Selection
from gui.explore.results import blocks_panel
from gui.explore.results.block_map import BlockCells, Kind
from gui.explore.results.blocks_panel import BlocksPanel
from gui.style.colours import HEAT, contrast
from gui.style.theme import DARK, LIGHT, current_theme, palette_of
from gui.widgets import number_table
from tests.made_runs import made_reason, make_result

B8, B16, B32 = Block(8, 8), Block(16, 16), Block(32, 8)
LIST = (B8, B16, B32)


class Shown:
    """The panel on the screen."""

    def __init__(self, qtbot, workspace, state, results):
        self.workspace, self.state, self.results = workspace, state, results
        self.cells = BlockCells(results)
        self.selection = Selection(workspace, state, results)
        self.panel = BlocksPanel(workspace, state, self.selection, self.cells)
        self.field, self.table = self.panel.field, self.panel.table
        qtbot.addWidget(self.panel)
        self.panel.resize(800, 300)
        with qtbot.waitExposed(self.panel):
            self.panel.show()
        self.settle()

    def settle(self):
        for _ in range(5):
            QApplication.processEvents()

    def add(self, *times, variant="tiled", **fields):
        for block, kernel_ms in times:
            self.results.add(make_result(variant, kernel_ms, block=block, **fields))
        self.settle()

    def at(self, block):
        """Return the middle of a cell."""
        return self.table.visualRect(self.table.index_of(block)).center()

    def click(self, block, button=Qt.MouseButton.LeftButton):
        QTest.mouseClick(self.table.viewport(), button, pos=self.at(block))
        self.settle()

    def data(self, block, role=Qt.ItemDataRole.DisplayRole):
        return self.table.index_of(block).data(role)

    def colour(self, block):
        # Beside the middle, where a text may stand.
        frame = self.table.viewport().grab().toImage()
        rect = self.table.visualRect(self.table.index_of(block))
        return frame.pixelColor(rect.topLeft() + QPoint(4, 4)).name()

    def type(self, text):
        self.field.field.setFocus()
        self.field.field.setText(text)
        QTest.keyClick(self.field.field, Qt.Key.Key_Return)
        self.settle()

    @property
    def settings(self):
        return self.workspace.settings


@pytest.fixture
def shown(qtbot, workspace, state, results):
    return Shown(qtbot, workspace, state, results)


def test_that_a_click_or_enter_on_a_cell_loads_it(shown):
    shown.add((B8, 0.4), (B16, 0.1), (B32, 0.2))
    shown.workspace.change(variant="naive")
    shown.click(B8)
    assert (shown.settings.variant, shown.settings.block) == ("tiled", B8)
    shown.click(B32, Qt.MouseButton.RightButton)
    assert shown.settings.block == B8
    shown.table.setFocus()
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Up, Qt.Key.Key_Return):
        QTest.keyClick(shown.table, key)
    assert shown.settings.block == B16
    assert shown.panel.summary.text().startswith("tiled, 16 × 16")
    QTest.keyClick(shown.table, Qt.Key.Key_Down)
    QTest.keyClick(shown.table, Qt.Key.Key_Enter)
    assert shown.settings.block == Block(16, 8)
    shown.click(B16)
    assert shown.results.described.result.block == B16, "its run is selected"


def test_that_cells_are_the_brighter_the_faster_they_are(shown):
    shown.add((B8, 0.4), (B16, 0.1), (B32, 0.2))
    assert shown.colour(B16) == HEAT[-1]
    assert shown.colour(B8) == HEAT[0]
    assert shown.colour(B32) not in (HEAT[0], HEAT[-1])
    assert [shown.data(block) for block in LIST] == ["400", "★ 100", "200"]
    assert "cells in µs" in shown.panel.summary.text()
    assert "✕  refused by the kernel" in shown.panel.summary.toolTip()
    assert "Best 16 × 16: 0.100 ms" in shown.panel.summary.text()
    assert "best 16 × 16: 0.100 ms" in shown.table.accessibleDescription()
    shown.results.draw("speed_up")
    shown.settle()
    assert "Best" not in shown.panel.summary.text(), "there is no run of the baseline"


def test_that_what_cannot_be_loaded_says_why(shown, monkeypatch):
    entries = [Availability("tiled", block=B8)]
    entries += [
        Availability("tiled", made_reason(f"{one}: no room"), one) for one in (Block(64, 8), Block(8, 64))
    ]
    shown.cells.plan(shown.workspace.job(), entries)
    shown.settle()
    shown.click(Block(64, 8))
    assert shown.settings.block is None
    assert "Not loaded. 64 × 8: no room" in shown.panel.summary.text()
    shown.click(Block(64, 64))
    assert "4,096 threads" in shown.panel.summary.text()
    for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
        assert "the limit is 1,024 threads per block" in shown.data(Block(64, 64), role)
    heard = shown.table.accessibleDescription()
    assert "1 waiting, 2 refused by the kernel, 1 illegal for CUDA" in heard


def test_that_the_map_is_of_the_newest_run_or_the_selected_kernel(shown):
    entries = [Availability(key, block=block) for key in ("naive", "tiled") for block in LIST]
    shown.cells.plan(shown.workspace.job(), entries)
    shown.settle()
    assert "3 to come" in shown.panel.summary.text()
    shown.add((B8, 0.4), variant="naive")
    assert shown.table.shown.variant == "naive"
    assert "2 to come" in shown.panel.summary.text()
    shown.add((B8, 0.3))
    assert shown.table.shown.variant == "tiled"
    shown.selection.select("naive")
    shown.settle()
    assert shown.table.shown.variant == "naive"
    # One without cells leaves the newest.
    shown.selection.select("cached")
    shown.settle()
    assert shown.table.shown.variant == "tiled"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_that_every_cell_is_read_at_4_5_to_1(shown, theme, monkeypatch):
    for module in (blocks_panel, number_table):
        monkeypatch.setattr(module, "current_theme", lambda: theme)
    blocks = [Block(1 << x, 4) for x in range(9)]
    shown.add(*((block, 0.1 * 1.35**number) for number, block in enumerate(blocks)))
    shown.cells.plan(shown.workspace.job(), [Availability("tiled", block=Block(1, 8))])
    shown.settle()
    table = shown.table
    places = [(one.row(), one.column()) for one in map(table.index_of, table.shown.cells)]
    ratios = [contrast(table.ink(table.ground(*place), *place), table.ground(*place)) for place in places]
    assert len(ratios) == 18
    assert min(ratios) >= 4.5


def test_that_the_current_cell_stays_while_results_arrive(shown):
    shown.add((B8, 0.4), (B16, 0.1))
    shown.table.setCurrentIndex(shown.table.index_of(B8))
    shown.add((B32, 0.2))
    assert shown.table.block_at(shown.table.currentIndex()) == B8


def test_that_a_list_or_a_set_is_chosen_or_refused_in_a_line(shown):
    shown.type("8x8, 16x16; 32 × 8")
    assert shown.settings.blocks == LIST
    assert shown.field.field.text() == "8x8, 16x16, 32x8"
    shown.type("8x8, 33x33")
    assert shown.panel.field.is_refused
    assert "1,089 threads" in shown.field.refusal.text()
    assert shown.settings.blocks == LIST
    refusal = shown.field.refusal
    assert palette_of(current_theme()).color(refusal.foregroundRole()).name() == current_theme().error
    shown.type("8x8, 8x8")
    assert shown.settings.blocks == (B8,)
    assert shown.field.note.text().startswith("8 × 8: in the list twice")
    *_, every = shown.field.sets.menu().actions()
    every.trigger()
    assert shown.settings.blocks == every_block()
    assert shown.field.field.text() == "all"
    shown.field.sets.menu().actions()[0].trigger()
    assert shown.settings.blocks == ()
    assert shown.field.field.text() == ""


def test_that_what_is_being_typed_stays_when_something_else_changes(shown):
    shown.field.field.setText("8x")
    shown.workspace.change(variant="naive")
    assert shown.field.field.text() == "8x"
    shown.workspace.change(blocks=LIST)
    assert shown.field.field.text() == "8x8, 16x16, 32x8"


def test_that_a_map_says_why_cells_are_illegal_without_a_search_for_legal_ones(shown, monkeypatch):
    # The search takes 3 ms per cell, and a map of all blocks has 55 of these: no window stays smooth with
    # that.
    def search(*_args):
        raise AssertionError("searched for the nearest legal block")

    monkeypatch.setattr("engine.geometry.block.nearest_legal", search)
    shown.add(*((block, 0.1) for block in (Block(1, 1024), Block(1024, 1), Block(512, 2))))
    cell = shown.table.shown.cells[Block(512, 1024)]
    assert (cell.kind, "524,288 threads" in cell.words) == (Kind.ILLEGAL, True)
