from dataclasses import replace

import pytest
from msgspec import structs
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest

from engine.geometry.block import Block, Limits, every_block
from engine.host.request import Availability
from engine.results.columns import KERNEL, SPEED_UP
from engine.results.metrics import metric
from gui.explore.explain.selection import Selection
from gui.explore.results.blocks_panel import BlockCells, BlocksPanel, Kind, map_of
from gui.style.theme import HEAT, current_theme, palette_of
from tests.gui.made_window import settle
from tests.made_runs import (
    PROBLEM,
    WORK,
    made_reason,
    make_failure,
    make_result,
    make_simulated,
    make_unverified,
)

B8, B16, B32 = Block(8, 8), Block(16, 16), Block(32, 8)
LIST = (B8, B16, B32)


class Shown:
    def __init__(self, qtbot, workspace, state, results):
        self.workspace, self.state, self.results = workspace, state, results
        self.cells = BlockCells(results)
        self.selection = Selection(workspace, state, results)
        self.panel = BlocksPanel(self.selection, self.cells, QAction(), lambda: None)
        self.field, self.table = self.panel.field, self.panel.table
        qtbot.addWidget(self.panel)
        self.panel.resize(800, 300)
        with qtbot.waitExposed(self.panel):
            self.panel.show()
        self.settle()

    settle = staticmethod(settle)

    def add(self, *times, variant="tiled", **fields):
        for block, kernel_ms in times:
            self.results.add(make_result(variant, kernel_ms, block=block, **fields))
        self.settle()

    def at(self, block):
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


def test_that_a_click_or_enter_on_a_cell_loads_it_and_cells_are_the_brighter_the_faster_they_are(shown):
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


def test_that_what_cannot_be_loaded_says_why_and_a_list_is_chosen_or_refused_in_a_line(shown, monkeypatch):
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


CUDA = Limits()


@pytest.fixture
def cells(results):
    return BlockCells(results)


def add(results, block, kernel_ms=0.1, variant="tiled", **fields):
    results.add(make_result(variant, kernel_ms, block=block, **fields))


def drawn(cells, key=KERNEL, variant="tiled", limits=CUDA):
    return map_of(variant, cells.all().get(variant, {}), metric(key), limits)


def test_that_the_cells_are_those_of_the_problem_that_is_set_and_the_newest_layout(cells, results, qtbot):
    other = structs.replace(PROBLEM, width=100)
    add(results, B16, problem=other)
    add(results, B32, layout="packed")
    add(results, B8, 0.3)
    add(results, B8, 0.2)
    results.follow(results.problem_of(results.results()[-1]))
    assert set(cells.all()["tiled"]) == {B8}
    assert cells.all()["tiled"][B8].result.kernel_ms == 0.2, "the newest counts"
    results.follow(results.problem_of(results.results()[0]))
    assert set(cells.all()["tiled"]) == {B16}
    with qtbot.waitSignal(cells.changed):
        results.take_out(results.kept)
    assert cells.all() == {}


def test_that_the_map_has_every_block_with_its_number_or_why_it_has_none_or_waits(cells, results, workspace):
    add(results, B8, 0.4)
    add(results, Block(64, 16), 0.2)
    add(results, Block(16, 64), 0.1)
    shown = drawn(cells)
    assert (shown.xs, shown.ys) == ((8, 16, 64), (8, 16, 64))
    assert shown.best == Block(16, 64)
    assert (shown.ratio(B8), shown.worst_ratio) == (pytest.approx(4.0), pytest.approx(4.0))
    illegal = shown.cells[Block(64, 64)]
    assert illegal.kind is Kind.ILLEGAL
    assert "4,096 threads; the limit is 1,024" in illegal.words
    assert shown.cells[B16].kind is Kind.NOT_CHOSEN
    assert (shown.text(B8), shown.unit) == ("400", "µs")
    # On a device with tighter limits.
    tight = drawn(cells, limits=Limits(max_threads=512))
    assert tight.cells[Block(16, 16)].kind is Kind.NOT_CHOSEN
    # The best speed-up is the largest, where the best time is the shortest.
    results.add(make_result("cpu-serial", 20.0))
    assert drawn(cells, SPEED_UP).best == Block(16, 64)
    assert drawn(cells, SPEED_UP).ratio(B8) == pytest.approx(4.0)
    results.take_out(results.kept)
    simulated = replace(make_simulated("tiled"), block=B8, work=WORK)
    for result in (
        simulated,
        replace(make_failure("tiled", "out of memory"), block=B16),
        replace(make_unverified("tiled"), block=B32),
    ):
        results.add(result)
    shown = drawn(cells)
    kinds = {block: shown.cells[block].kind for block in (B8, B16, B32)}
    assert kinds == {B8: Kind.NO_NUMBER, B16: Kind.FAILED, B32: Kind.FAILED}
    assert shown.best is None
    assert "out of memory" in shown.cells[B16].words
    assert "12 pixels differ" in shown.cells[B32].words
    # What is counted is there in the simulator too.
    counted = drawn(cells, "model_cgma_flop_per_load")
    assert counted.cells[B8].kind is Kind.VALUE
    results.take_out(results.kept)
    too_large = made_reason("its tile is too large")
    plan = [Availability("tiled", block=B8), Availability("tiled", too_large, B16)]
    plan += [Availability("tiled", block=B32), Availability("cpu-serial", block=None)]
    cells.plan(workspace.job(), plan)
    assert cells.all() == {"tiled": {B8: None, B16: too_large, B32: None}}
    add(results, B8)
    assert cells.all()["tiled"][B8].result.block == B8
    results.add(make_result("cpu-serial", 20.0))
    assert cells.all()["tiled"][B8].speed_up == pytest.approx(200.0)
    assert cells.all()["tiled"][B16] == too_large
    # What a stopped run leaves waits no longer.
    cells.end_plan()
    assert set(cells.all()["tiled"]) == {B8, B16}
