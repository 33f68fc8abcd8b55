"""Papers, what their tables count without a device, and what they make of runs as one might answer them."""

import dataclasses
import re
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import engine.course.bench
import engine.course.tables
from engine.course import cnn, convolution_papers
from engine.course.cnn import W, Y, diverging_warps, unrolled
from engine.course.files import Part, columns_of
from engine.course.paper import MISPRINT, unmarked
from engine.course.papers import PAPERS, TABLE_TEXTS
from engine.course.runs import (
    BEING_COUNTED,
    NOT_YET,
    AllocationRun,
    Amount,
    AttributesRun,
    FilterRun,
    ProductRun,
    Results,
    StageRun,
    StreamsRun,
)
from engine.course.tables import counted_tables, tables_of, transactions_per_request
from engine.device_info import GpuAttributes
from engine.geometry.block import Block, Layout, Limits
from engine.geometry.border import Border
from engine.mask.presets import resolve_mask
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.task import NETWORK_VARIANTS
from engine.tasks.product.problem import MATMUL_VARIANTS, MatrixProduct, matmul_variant
from engine.work.filtering.variants import variant
from engine.work.problem import Problem
from tests.fresh_python import fresh_python

PRINTED_NUMBERS = Path(__file__).parents[3] / "docs" / "experiments" / "course-numbers.md"
GPU = GpuAttributes(
    10, 2048, 32, 65536, 233472, 1024, 1024, 1000.0, 100.0, 1000.0, 400,
    host_bus_gb_s=8.0, lanes=128, l2_bytes=1 << 20,
)  # fmt: skip
FAULT = Amount(reason="no such luck")


COUNTED = {"naive", "naive-uncoalesced", "network-connected", "network-uncoalesced"}
COUNTED |= {known.key for known in MATMUL_VARIANTS}


def transactions(run):
    """Return what is counted of the kernels that the tests below compare; 1 of others."""
    if getattr(run, "stage", getattr(run, "variant", "")) not in COUNTED:
        return Amount(1.0)
    # What a warp asks for is that of 256 and of 4 drawings, which take 6 s.
    with mock.patch.multiple(engine.course.tables, MOST_SIDE=64, MOST_DRAWINGS=1):
        return transactions_per_request(run)


def tables_from(paper_key, values_of, sizes=None):
    """Return a paper's tables with the values that `values_of` gives for each run; None is a failure."""
    done = {run: values_of(run) or FAULT for run in asked(paper_key, sizes)}
    return tables_of(paper_key, Results(done, transactions), sizes)


def asked(paper_key, sizes):
    """Return the runs that the tables of a paper need."""
    results = Results({})
    tables_of(paper_key, results, sizes)
    return list(results.needed)


def rows_of(table):
    """Return the rows by the texts that name them, without the cells that name them."""
    names = sum(column.part is Part.NAME for column in columns_of(table))
    return {tuple(cell.printed for cell in row[:names]): row[names:] for row in table.rows}


def here(table):
    """Return the texts of this machine's cells, one list per row."""
    return [[cell.here or cell.reason for cell in cells] for cells in rows_of(table).values()]


# Paper, number of the table, a part of the column's heading.
COALESCING = (
    ("report", 0, "Transactions per request, naïve"),
    ("cnn", 2, "Transactions per request"),
    ("convolution", 3, "Transactions per request"),
    ("convolution", 5, "Transactions per request, pitched"),
    ("performance", 6, "Transactions per request"),
)
STAGES = {known.key for known in NETWORK_VARIANTS}


@pytest.mark.slow
def test_that_papers_are_drawn_without_numba_and_without_a_window():
    # Agg and SVG need no screen; a GUI backend would need Qt.
    code = (
        "import sys; from engine.course.papers import PAPERS; from engine.course.files import svg_of;"
        "from engine.course.paper import Figure, Series; assert 'matplotlib' not in sys.modules;"
        "svg_of(Figure('t', 'x', 'y', (Series('a', (1.0, 2.0), (1.0, 2.0)),)));"
        "assert not {'numba', 'PySide6', 'matplotlib.pyplot', 'tkinter'} & set(sys.modules), len(PAPERS)"
    )
    fresh_python("-c", code)


def test_that_every_kernel_can_be_run_as_configured():
    for kernel in (kernel for one in PAPERS for kernel in one.kernels):
        assert kernel.place
        assert Layout.named(kernel.layout) == kernel.layout
        assert kernel.is_product == (kernel.variant in {known.key for known in MATMUL_VARIANTS})
        assert (kernel.task == ForwardPass.task) == (kernel.variant in STAGES)
        if kernel.task == ForwardPass.task:
            continue
        if kernel.is_product:
            assert kernel.block.x == kernel.block.y
            product = MatrixProduct(100, 100, 100)
            assert matmul_variant(kernel.variant).unsupported(product, None, kernel.block, Limits()) is None
            continue
        mask = resolve_mask(kernel.mask)
        border = Border.named(kernel.border)
        problem = Problem(100, 120, mask_shape=mask.shape, anchor=mask.anchor, border=border)
        chosen = variant(kernel.variant)
        assert chosen.unsupported(problem, mask, kernel.block or chosen.default_block, Limits()) is None


def counted(paper_key, number):
    return rows_of(counted_tables(paper_key)[number])


def texts_of(cells):
    return [cell.here for cell in cells]


@pytest.mark.slow
def test_that_transactions_stand_in_every_table_in_which_coalescing_is_the_lesson():
    results, keys = Results({}, transactions), {key for key, *_ in COALESCING}
    tables = {key: tables_of(key, results, (128,)) for key in keys}
    for key, number, heading in COALESCING:
        table = tables[key][number]
        at = next(at for at, one in enumerate(table.headings) if heading in one)
        # Without counting they say that it is being done.
        assert {row[at].reason for row in counted_tables(key)[number].rows} <= {BEING_COUNTED, ""}
        assert all(float(row[at].here) >= 1.0 for row in table.rows if row[at].here), table.title
        assert any(row[at].here for row in table.rows), table.title
        column = next(one for one in columns_of(table) if one.position == at)
        assert column.part is Part.HERE
        assert any("ounted" in note for note in table.notes)


def test_that_the_convolution_lectures_counts_come_out():
    rows = counted("convolution", 0)
    for (tile, mask), cells in rows.items():
        assert texts_of(cells[:2]) == [str(int(tile) * int(mask)), str(int(tile) + int(mask) - 1)]
    assert texts_of(rows["8", "5"]) == ["40", "12", "3.333", "14"]
    assert texts_of(rows["4", "5"]) == ["20", "8", "2.5", "10"]
    assert [cell.printed for cell in rows["8", "5"]] == ["40", "12", "3.3", ""]
    rows = counted("convolution", 2)
    for (tile, mask, block), cells in rows.items():
        side = int(tile) + int(mask) - 1
        assert texts_of(cells[:2]) == [str((int(tile) * int(mask)) ** 2), str(side * side)]
        if int(block) <= 32:
            assert cells[3].here == cells[1].here
        else:
            assert f"{side * side:,} threads; the limit is 1,024" in cells[3].reason
            assert "nearest legal block" in cells[3].reason
    assert texts_of(rows["16", "5", "20"]) == ["6400", "400", "16", "400", "64 %"]
    assert texts_of(counted("convolution", 4)["1001",]) == ["4004", "4096", "1 of 32", "all"]
    rows = {names[1]: texts_of(cells) for names, cells in counted("convolution", 3).items()}
    taps = str(1024 * 1024 * 25)
    assert (rows["naive"][1], rows["naive"][3]) == (taps, "0")
    assert (rows["constant"][1], rows["constant"][3]) == ("0", taps)
    assert (rows["row-constant"][1], rows["row-constant"][3]) == ("0", str(1024 * 1024 * 5))


def test_that_the_tile_of_8_elements_is_loaded_as_printed():
    rows = counted("convolution", 1)
    assert list(rows) == [(f"P[{8 + thread}]", str(thread)) for thread in range(8)]
    for (_, thread), (uses, left, centre, right) in rows.items():
        place = 8 + int(thread)
        assert uses.here == ", ".join(f"N[{column}]" for column in range(place - 2, place + 3))
        assert uses.printed in (uses.here, "")
        assert left.here == (f"N[{place - 8}]" if int(thread) >= 6 else "")
        assert centre.here == f"N[{place}]"
        assert right.here == (f"N[{place + 8}]" if int(thread) < 2 else "")
    assert sum(bool(cells[0].printed) for cells in rows.values()) == 5


def test_that_the_lectures_and_the_cnn_reports_counts_come_out():
    rows = counted("performance", 3)
    assert (rows["matmul-naive", "16"][2].here, rows["matmul-naive", "16"][3].here) == ("1", "21.6")
    tiles = ("2", "4", "8", "16", "32")
    assert [rows["matmul-tiled", tile][2].here for tile in tiles] == list(tiles)
    assert texts_of(rows["matmul-tiled", "16"][:3]) == ["512", "8192", "16"]
    assert [cells[0].here for cells in counted("cnn", 1).values()] == ["12", "4", "6", "2"]
    assert [cells[0].printed for cells in counted("cnn", 1).values()] == ["8 + 4 = 12", "4", "6", "2"]
    assert [cells[2].here for cells in counted("cnn", 1).values()] == ["384", "256", "192", "128"]
    for a_map, maps, of_input in list(counted("cnn", 1).values())[1:]:
        assert of_input.printed == f"{maps.printed} * {a_map.printed}"
        assert (maps.printed, of_input.here) == (maps.here, str(int(maps.here) * int(a_map.here)))
    assert diverging_warps(32, 32, Block(16, 16)) == 0
    picture, unrolled, naive, on_the_fly = (int(cell.here) for cell in counted("cnn", 0)["512 × 512", "8"])
    assert unrolled == 25 * picture == 25 * 512 * 512 * 4
    assert naive == 8 * on_the_fly


@pytest.mark.parametrize("one", PAPERS, ids=lambda one: one.key)
def test_that_counting_a_paper_asks_no_device(one, monkeypatch):
    def refuse(*_):
        raise AssertionError("a device was asked")

    for name in ("device_named", "backend"):
        monkeypatch.setattr(engine.course.bench, name, refuse)
    tables = counted_tables(one.key)
    assert tuple(table.title for table in tables) == one.tables
    # A name in papers.toml that is no row's would lose the values that were printed there.
    in_cells = [cell.printed for table in tables for cells in rows_of(table).values() for cell in cells]
    texts = [text for table in TABLE_TEXTS[one] for values in table.printed.values() for text in values]
    assert [*filter(None, in_cells)] == [*filter(None, map(unmarked, texts))]
    rows = [(table, row) for table in tables for row in table.rows]
    assert NOT_YET in {cell.reason for _, row in rows for cell in row}
    for table, (name, *cells) in rows:
        assert 1 + len(cells) == len(table.headings)
        assert (bool(name.printed), name.here, name.reason) == (True, "", "")
        assert not any(cell.here and cell.reason for cell in cells)


def report_times(run):
    """Return times that grow with the block: serial 100 ms, naïve side / 8 ms, all others side / 16 ms."""
    if isinstance(run, AllocationRun):
        return {"allocate_ms": 1.0, "free_ms": 0.5}
    if isinstance(run, StreamsRun):
        return {"one_stream_ms": 8.0, "two_streams_ms": 5.0}
    if run.block is None:
        return {"kernel_ms": 100.0 if run.variant == "cpu-serial" else 0.25}
    side = run.block.x
    kernel_ms = side / (8 if run.variant == convolution_papers.NAIVE else 16)
    return {"kernel_ms": kernel_ms, "copy_in_ms": 5.5, "copy_out_ms": 3.0}


@pytest.mark.slow
def test_that_the_reports_times_changes_overhead_and_gflops_come_out():
    times, naive, optimized, overhead, gflops = tables_from("report", report_times, (512,))
    # Times are seconds, speed-ups their quotients; transactions are counted.
    assert here(times) == [
        ["0.1", "0.001", "0.0005", "100", "200", "2", "0.0005", "0.0005", "0.00025", "4.938", "2.892"],
        ["0.1", "0.002", "0.001", "50", "100", "2", "0.001", "0.001", "0.00025", "8.807", "1.876"],
        ["0.1", "0.004", "0.002", "25", "50", "2", "0.002", "0.002", "0.00025", "16.75", "1.367"],
    ]
    assert [row[2].printed for row in times.rows] == ["0.018511", "0.018466", "0.018533"]

    # 1 ms more for 8 more along each side, which are 192 threads; 2 ms for 16, which are 768.
    assert here(naive) == [["0.001", "0.000125", "0.000005208"], ["0.002", "0.000125", "0.000002604"]]
    assert here(optimized) == [["0.0005", "0.0000625", "0.000002604"], ["0.001", "0.0000625", "0.000001302"]]

    # Memory is in both overheads; these are fractions of the kernel with blocks of 8. GFLOPS are those of 16.
    assert here(overhead) == [["0.01", "0.01", "10", "20", "0.0015", "0.008", "0.005"]]
    # 25 x 512 x 512 operations in 2 and in 1 ms; and twice as many.
    assert here(gflops) == [["6553600", "3.277", "6.554", "6.554", "13.11"]]

    # A missing time empties only what needs it.
    def without_naive(run):
        return None if getattr(run, "variant", "") == convolution_papers.NAIVE else report_times(run)

    times, *_ = tables_from("report", without_naive, (512, 33))
    lost = "no such luck"
    assert here(times)[0][:9] == ["0.1", lost, "0.0005", lost, "200", lost, "0.0005", "0.0005", "0.00025"]
    assert [cell.printed for cell in times.rows[3]] == ["33x33", "8", *[""] * 11]


def lab_times(run):
    """Return 80 ms for both serial passes and 8, 4, 5 ms for the levels."""
    if isinstance(run, AttributesRun):
        return dataclasses.asdict(GPU)
    level_ms = {"separable-l0": 8.0, "separable-l1": 4.0, "separable-l2": 5.0}
    return {"kernel_ms": level_ms.get(run.variant, 80.0)}


def test_that_the_labs_levels_load_less_and_less_and_speed_ups_are_over_the_level_before():
    for (mask,), (one, two, *loads) in counted("lab", 2).items():
        side = int(mask.partition(" ")[0])
        assert (int(one.here), int(two.here)) == (side * side, side + side)
        one_pass, l0, l1, l2 = (float(cell.here) for cell in loads)
        assert one_pass > l0 > l2 >= l1
    filterings = [run for run in asked("lab", (256,)) if isinstance(run, FilterRun)]
    assert {run.variant for run in filterings} == {
        "cpu-separable-serial",
        *convolution_papers.LEVELS.values(),
    }
    times, speed_ups, _ = tables_from("lab", lab_times, (256, 4096))
    assert here(times) == [["80", "8", "4", "5"]] * 2
    # 256 x 256 floats are a quarter of a cache of 1 MiB, 4096 x 4096 are 64 of them.
    assert here(speed_ups) == [["10", "2", "0.8", share] for share in ("25", "6400")]
    assert [cell.printed for cell in speed_ups.rows[0]][:4] == ["256", "24.32", "1.09", "1.04"]

    assert [(curve.name, curve.variant, curve.y) for curve in times.figure.series] == [
        ("Serial", "cpu-separable-serial", (80.0, 80.0)), ("L0", "separable-l0", (8.0, 8.0)),
        ("L1", "separable-l1", (4.0, 4.0)), ("L2", "separable-l2", (5.0, 5.0)),
    ]  # fmt: skip
    assert times.figure.printed == ()
    printed = {curve.name: curve.y for curve in speed_ups.figure.printed}
    assert printed == {"L0": (24.32, 54.22), "L1": (1.09, 1.15), "L2": (1.04, 0.99)}
    assert {curve.x for curve in speed_ups.figure.printed} == {(256.0, 4096.0)}
    # A curve has a gap where nothing was measured.
    _, speed_ups, _ = tables_from(
        "lab", lambda run: None if getattr(run, "side", 0) == 256 else lab_times(run), (256, 512)
    )
    assert [curve.y for curve in speed_ups.figure.series] == [(None, 10.0), (None, 2.0), (None, 0.8)]


def lecture_values(run):
    """Return a device of 100 GB/s and, for every run, round times."""
    if isinstance(run, AttributesRun):
        return dataclasses.asdict(GPU)
    if isinstance(run, ProductRun):
        return {"kernel_ms": 2.0, "gflops": 10.0 * run.tile if run.variant == "matmul-tiled" else 5.0}
    if isinstance(run, FilterRun):
        return {"kernel_ms": 0.1, "copy_in_ms": 1.5, "copy_out_ms": 2.5}
    if isinstance(run, AllocationRun):
        return {"allocate_ms": 0.75, "free_ms": 0.25}
    return {"kernel_ms": 0.25, "host_ms": 0.5}


@pytest.mark.slow
def test_that_bandwidths_timers_tiles_layouts_and_banks_come_out():
    found = tables_from("performance", lecture_values, (1024,))
    timers, theoretical, effective, cgma, _, _, tiles, *_ = found
    assert here(timers) == [["0.5", "0.25", "0.25"]]
    assert here(theoretical) == [["1.85", "384", "177.6"], ["1", "400", "100"]]
    # 8 MiB in 0.1 ms are 83.9 GB/s.
    assert here(effective) == [["8388608", "0.1", "83.89", "83.89"]]
    assert [row[-1] for row in here(cgma)] == ["25", "50", "100", "200", "400", "800"]
    rates, speed_ups = ("5", "20", "40", "80", "160", "320"), ("1", "4", "8", "16", "32", "64")
    # A warp of 16 x 16 threads goes over two rows; the loads of M and N that all of them make are one each.
    transactions = ("1.504", "2", "4", "4", "2", "1")
    assert [tuple(row[1:]) for row in here(tiles)] == list(zip(rates, speed_ups, transactions, strict=True))
    tiled, naive = tiles.figure.series
    assert (tiled.x, tiled.y) == ((2.0, 4.0, 8.0, 16.0, 32.0), (20.0, 40.0, 80.0, 160.0, 320.0))
    assert (naive.x, naive.y) == ((2.0, 32.0), (5.0, 5.0))
    *_, layouts, _ = tables_from(
        "convolution", lambda run: {"kernel_ms": 3.0 if run.layout is Layout.PACKED else 2.0}, (1001,)
    )
    # Where rows begin at a boundary, fewer requests go over one.
    assert here(layouts) == [["3", "2", "1.5", "1.482", "1.38"]]
    *_, banks = tables_from(
        "cnn", lambda run: {"kernel_ms": 2.0 if isinstance(run, FilterRun) else 4.0}, (64,)
    )
    assert here(banks) == [["2", "4", "0.5"], ["16", "4", "4"], ["64", "4", "16"]]


def test_that_the_documents_say_where_every_printed_table_and_every_misprint_is_found():
    listed = PRINTED_NUMBERS.read_text(encoding="utf-8")
    parts = dict(re.findall(r"(?ms)^`(\w+)`, \".*?$(.*?)(?=^`\w+`, \"|\Z)", listed))
    assert list(parts) == [one.key for one in PAPERS]
    for one in PAPERS:
        rows = [line for line in parts[one.key].splitlines() if line.startswith("|")]
        named = set(re.findall(r'"([^"]+)"', " ".join(row.split(" | ")[-1] for row in rows)))
        printed = [table.title for table in TABLE_TEXTS[one] if table.printed]
        assert [title for title in printed if title not in named] == [], one.key
        misprints = [row for row in rows if "misprint" in row]
        notes = {note for table in counted_tables(one.key) for note in table.notes if "Misprint" in note}
        for note in notes:
            value = note.rpartition("printed is ")[2].rstrip(".")
            assert [row for row in misprints if value in row], note


def test_that_each_misprinted_cell_has_the_mark_of_its_note():
    found = {}
    for one in PAPERS:
        for table in counted_tables(one.key):
            marked = [cell.printed for row in table.rows for cell in row if cell.is_misprint]
            notes = " ".join(note for note in table.notes if note.startswith(MISPRINT))
            assert bool(marked) == bool(notes), table.title
            assert not any(MISPRINT in cell.printed for row in table.rows for cell in row)
            if "printed is" in notes:
                assert [value for value in marked if f"printed is {value}" not in notes] == [], table.title
            found[one.key] = found.get(one.key, 0) + len(marked)
    # Every wrong printed number of X_unrolled.
    assert found == {"report": 4, "cnn": 4 + 5 + 5, "lab": 0, "convolution": 0, "performance": 2}
    columns = counted_tables("cnn")[5]
    for cell in (cell for row in columns.rows for cell in row[1:] if cell.printed):
        assert cell.is_misprint == (cell.printed != cell.here)


def test_that_a_burst_delivers_its_whole_section_as_on_the_slide_of_16_bytes():
    rows = counted("convolution", 6)
    assert texts_of(rows["one location", "5"]) == ["1", "4 to 7", "4", "25"]
    assert rows["four neighbours, shifted by one", "5 to 8"][3].here == "50"
    assert [cell.here for cell in rows["every second location", "0, 2, 4, 6"]][:2] == ["0 to 1", "0 to 7"]
    assert [cell.here for cell in rows["all", "0 to 15"]] == ["0 to 3", "0 to 15", "16", "100"]


@pytest.mark.slow
def test_that_the_lectures_summary_is_told_step_by_step():
    *_, structure, memories = tables_from("performance", lecture_values, (1024,))
    times = [row[2].here for row in structure.rows if row[2].here]
    assert times == ["0.75", "1.5", "0.1", "2.5", "0.25"]
    assert "64 × 64 blocks of 16 × 16" in structure.rows[4][3].here
    found = {row[1].printed.partition(" (")[0]: row[2:4] for row in memories.rows}
    where = ["`constant`", "cells: 24.9 global; weights: 25 constant"]
    assert texts_of(found["constant memory"]) == where
    assert list(found) == ["constant memory", "shared memory", "registers", "global memory"]
    guidelines = [row[0].printed for row in counted_tables("performance")[7].rows]
    last_slide = ("Identify", "Minimal", "Adopt", "Optimize", "Performance Tuning", "Pay attention")
    assert all(any(point.startswith(word) for point in guidelines) for word in last_slide)


@pytest.mark.slow
def test_that_the_networks_stages_are_compared_for_the_same_digits():
    def values(run):
        if isinstance(run, StageRun):
            return {"kernel_ms": 1.0, "running_ms": 3000.0 if run.batch < 10_000 else 6000.0}
        return {"kernel_ms": 1.0}

    _, _, stages, memory, product, columns, _ = tables_from("cnn", values, None)
    rows = {row[1].printed: [cell.here for cell in row[2:]] for row in stages.rows}
    assert list(rows) == list(cnn.STAGES) == sorted(cnn.STAGES, key=list(cnn.STAGES).index)
    assert set(rows) == {stage.key for stage in NETWORK_VARIANTS}
    # 500 digits in 3 s are 10,000 in 60.
    assert rows.pop("network-serial") == ["60", "1", ""]
    assert {tuple(values[:2]) for values in rows.values()} == {("6", "10")}
    # "Memory Coalescing": neighbouring threads ask for values 32 apart.
    transactions = {key: float(values[2]) for key, values in rows.items() if values[2]}
    assert set(transactions) == cnn.COMPARED_LAYOUTS
    assert transactions["network-uncoalesced"] > 5 * transactions["network-connected"]
    assert [row[1].here for row in memory.rows] == ["3200", "204800"]
    assert [row[2].here for row in memory.rows] == ["yes", "no: 204,800 of 65,536 bytes"]
    printed = [[cell.printed for cell in row[1:]] for row in product.rows]
    assert [[cell.here for cell in row[1:]] for row in product.rows] == printed
    in_paper = zip(*([cell.printed for cell in row[1:]] for row in columns.rows), strict=True)
    printed_x = [[int(text) for text in column if text] for column in in_paper]
    right = [list(map(int, column)) for column in unrolled().T]
    assert [left == own for left, own in zip(printed_x, right, strict=True)] == [True, False, False, False]
    wrong = [sum(cell.printed != cell.here for cell in column) for column in zip(*columns.rows, strict=True)]
    assert (wrong[1], wrong[2]) == (0, 4)
    assert not (Y[:, 1:3] == W @ np.array(printed_x[1:3]).T).all(axis=0).any()
