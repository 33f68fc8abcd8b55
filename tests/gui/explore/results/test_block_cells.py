from dataclasses import replace

import pytest
from msgspec import structs

from engine.geometry.block import Block, Limits
from engine.host.protocol import Availability
from engine.results.columns import KERNEL, SPEED_UP
from engine.results.metrics import metric
from gui.explore.results.block_map import BlockCells, Kind, map_of
from tests.made_runs import (
    PROBLEM,
    WORK,
    made_reason,
    make_failure,
    make_result,
    make_simulated,
    make_unverified,
)

CUDA = Limits()
B8, B16, B32 = Block(8, 8), Block(16, 16), Block(32, 8)


@pytest.fixture
def cells(results):
    return BlockCells(results)


def add(results, block, kernel_ms=0.1, variant="tiled", **fields):
    results.add(make_result(variant, kernel_ms, block=block, **fields))


def drawn(cells, key=KERNEL, variant="tiled", limits=CUDA):
    return map_of(variant, cells.all().get(variant, {}), metric(key), limits)


def test_that_a_cell_of_a_plan_waits_until_it_ran_or_is_refused(cells, results, workspace):
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


def test_that_the_map_has_every_block_of_its_rows_and_columns_with_the_best_marked(cells, results):
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


def test_that_what_has_no_number_is_drawn_as_what_it_is_with_its_reason(cells, results):
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


def test_that_among_equals_none_is_best(cells, results):
    for block in (B8, B16, B32):
        add(results, block, 0.1)
    assert drawn(cells).best is None
    assert drawn(cells, variant="naive").cells == {}
