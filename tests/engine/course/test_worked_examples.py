"""The lecture's worked examples: its values, a GPU's own, and its block (0,0) beside what threads do."""

import dataclasses

import numpy as np
import pytest

import engine
from engine.course import convolution_papers
from engine.course.paper import MISPRINT
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.performance_lecture import (
    EXAMPLES,
    HERE,
    LECTURE,
    TILE_WIDTH,
    TILED,
    WIDTH,
    example_table,
    transactions,
)
from engine.course.runs import significant
from engine.course.tables import counted_tables
from engine.device import device_list
from engine.device.device_list import host_bus_gb_s, memory_bytes_per_second
from engine.device_info import GpuAttributes
from tests.engine.variants.executed import observed

BANDWIDTHS, BUS, PEAKS, STRIDES, OCCUPANCY = EXAMPLES
NO_GPU = "There is no GPU."
# An H200.
GPU = GpuAttributes(
    132, 2048, 32, 65536, 233472, 1024, 1024, 1980.0, 4800.0, 3200.0, 6000, host_bus_gb_s=63.0, lanes=128
)


PAPER = paper("performance")


def rows(number, gpu=NO_GPU):
    """Return (names, values) of a table's rows; a value is its text here, or why it is empty."""
    return cells_of(example_table("performance", PAPER.tables[number], gpu))


def cells_of(table):
    names = next(at for at, cell in enumerate(table.rows[0]) if cell.here or cell.reason)
    return [
        (tuple(cell.printed for cell in row[:names]), [cell.here or cell.reason for cell in row[names:]])
        for row in table.rows
    ]


def test_that_the_lectures_values_come_out_beside_what_it_printed():
    by_name = dict(rows(OCCUPANCY))
    assert by_name["8 × 8", LECTURE] == ["64", "8", "512", "16 of 24", "66.67", "blocks"]
    assert by_name["16 × 16", LECTURE][:5] == ["256", "3", "768", "24 of 24", "100"]
    assert by_name["32 × 32", LECTURE][1:5] == ["0", "0", "0 of 24", "0"]
    assert dict(rows(PEAKS))["1", LECTURE] == ["86.4", "370", "21.6", "5.838", "17.13"]
    assert dict(rows(BUS))[LECTURE,] == ["12000000", "4", "3", "86.4", "0.1389", "0.002703", "1110"]
    by_stride = {names[0]: values for names, values in rows(STRIDES)}
    assert by_stride["1"][:6] == ["1", "128", "100", "4", "128", "100"]
    assert by_stride["32"][:6] == ["32", "4096", "3.125", "32", "1024", "12.5"]
    peaks = example_table("performance", PAPER.tables[PEAKS], NO_GPU)
    printed = [cell.printed for row in peaks.rows for cell in row[2:] if cell.printed]
    assert printed == ["86.4", "> 370", "21.6", "6", "86.4", "347.6"]


def test_that_a_gpu_stands_beside_them_by_its_attributes():
    assert dict(rows(OCCUPANCY, GPU))["32 × 32", HERE] == ["1024", "2", "2048", "64 of 64", "100", "threads"]
    assert dict(rows(PEAKS, GPU))["1", HERE] == ["4800", "66910", "1200", "1.794", "55.76"]
    assert dict(rows(BUS, GPU))[HERE,][:3] == ["12000000", "63", "0.1905"]
    assert dict(rows(BANDWIDTHS, GPU))[HERE,] == ["3.2", "6000", "4800"]
    assert rows(STRIDES, GPU)[1][1][-1] == "4800"


def test_that_without_a_gpu_or_without_a_fact_the_cells_say_why_they_are_empty():
    for number in EXAMPLES:
        table = example_table("performance", PAPER.tables[number], NO_GPU)
        reasons = {cell.reason for row in table.rows for cell in row} - {""}
        assert reasons == {NO_GPU}
    silent = dataclasses.replace(GPU, host_bus_gb_s=0.0)
    _, values = rows(BUS, silent)[1]
    assert values[1] == values[2] == "The driver does not state how fast its bus to the host is."
    assert values[3] == "4800"


def test_that_occupancy_counts_warps_as_cuda_does_also_where_a_block_does_not_fill_them():
    """A block of 10 x 10 takes 4 warps: 4 of 24 are 16.67 %, where 100 of 768 threads would be 13.02."""
    values = TABLE_TEXTS[PAPER][OCCUPANCY].values | {"block": ["10x10"], "per_thread": 40}
    (_, theirs), (_, here) = EXAMPLES[OCCUPANCY](values, GPU)
    assert theirs[1:4] == (1, 100, "4 of 24")
    assert theirs[4] == pytest.approx(100 * 4 / 24)
    assert here[1:] == (12, 1200, "48 of 64", 75, "registers")


def test_that_transactions_are_the_aligned_pieces_that_a_warp_touches():
    # Shifted by one element; and where every fourth segment is jumped over.
    found = {(1, 4, 1, 128): 2, (0, 4, 0, 32): 1, (1, 1, 0, 32): 1, (3, 8, 0, 32): 24, (1, 12, 0, 128): 3}
    assert {asked: transactions(*asked) for asked in found} == found


def test_that_an_example_is_found_by_its_table_alone():
    found = [example_table("performance", title, NO_GPU) for title in PAPER.tables]
    assert [at for at, table in enumerate(found) if table] == list(EXAMPLES)
    assert example_table("report", PAPER.tables[BUS], NO_GPU) is None
    assert example_table("performance", "no such table", NO_GPU) is None


def test_that_the_bus_to_the_host_is_read_as_linux_states_it(tmp_path, monkeypatch):
    monkeypatch.setattr(device_list, "PCI_DEVICES", tmp_path)
    assert host_bus_gb_s(0, 0x41, 0) == 0.0
    folder = tmp_path / "0000:41:00.0"
    folder.mkdir()
    for speed, width, wanted in (
        ("2.5 GT/s PCIe", "16", 4.0), ("32.0 GT/s PCIe", "16", 63.02), ("Unknown", "16", 0.0),
        ("8 GT/s", "", 0.0),
    ):  # fmt: skip
        (folder / "max_link_speed").write_text(f"{speed}\n")
        (folder / "max_link_width").write_text(f"{width}\n")
        assert significant(host_bus_gb_s(0, 0x41, 0)) == significant(wanted)


def traced(key, at=(0, 0)):
    """Return what each thread of a block loads of M and of N and stores to P, in its own order."""
    m = np.ones((WIDTH, WIDTH), np.float32)
    with observed(at=(*at, 0)) as launches:
        engine.matmul(m, m.copy(), variant=key, tile=TILE_WIDTH, device="simulator")
    ((step, _, arrays, accesses),) = launches
    names = [arrays[one].name for one in step.arguments if not isinstance(one, int)]
    found = {name: {} for name in names}
    for done in (one for one in accesses if one.array in names):
        for thread, address in zip(done.threads.tolist(), done.addresses.tolist(), strict=True):
            place = f"({thread // TILE_WIDTH},{thread % TILE_WIDTH})"
            found[done.array].setdefault(place, []).append(divmod(address // 4, WIDTH))
    return list(found.values())


def words(pairs, name):
    return [f"{name}{row},{column}" for row, column in pairs]


def test_that_the_threads_of_block_0_0_do_what_the_table_says():
    rows = {names[0]: (names[1], cells) for names, cells in cells_of(counted_tables("performance")[4])}
    of_m, of_n, of_p = traced("matmul-naive")
    assert len(rows) == TILE_WIDTH**2
    for thread, (result, (accesses, *_)) in rows.items():
        pairs = zip(words(of_m[thread], "M"), words(of_n[thread], "N"), strict=True)
        assert accesses == "; ".join(map(" ".join, pairs))
        assert words(of_p[thread], "P") == [result]

    of_m, of_n, of_p = traced("matmul-tiled")
    for thread, (result, (accesses, *phases)) in rows.items():
        loads, adds = phases[::2], phases[1::2]
        pairs = zip(words(of_m[thread], "M"), words(of_n[thread], "N"), strict=True)
        assert loads == list(map(" ".join, pairs))
        # What is added phase by phase is what the naive kernel adds.
        assert " + ".join(adds) == accesses.replace("; ", " + ")
        assert words(of_p[thread], "P") == [result]


def test_that_an_element_is_read_as_often_as_counted():
    (_, texts), *_ = cells_of(counted_tables("performance")[5])
    times = list(map(int, texts))
    elements = 2 * WIDTH * TILE_WIDTH, 2 * WIDTH * WIDTH
    blocks = [(x, y) for x in range(WIDTH // TILE_WIDTH) for y in range(WIDTH // TILE_WIDTH)]
    for place, key in enumerate(("matmul-naive", "matmul-tiled")):
        loads = [traced(key, at)[:2] for at in blocks]
        reads = [sum(len(cells) for one in both for cells in one.values()) for both in loads]
        assert times[place] == reads[0] // elements[0]
        assert times[2 + place] == sum(reads) // elements[1]
    assert times == [2, 1, 4, 2]


def test_that_exactly_the_papers_misprints_are_named():
    notes = [note for table in counted_tables("report")[:3] for note in table.notes if note[0] == MISPRINT]
    assert notes == [
        f"{MISPRINT} Misprint in the paper: {words}"
        for words in (
            "512x512, 8->16: 0.000058 / 8 is 0.00000725, printed is 0.0000725.",
            "1024x1024, 8->16: -0.0000010 / 8 is -0.000000125, printed is -0.000001250.",
            "1024x1024, 16->32: 0.0000030 / 16 is 0.0000001875, printed is 0.000001875.",
        )
    ]
    printed = TABLE_TEXTS[convolution_papers.LAB][1].printed
    assert tuple(map(int, printed)) == convolution_papers.LAB_SIZES
    assert [size for size, (_, l1, _) in printed.items() if float(l1) < 1] == ["2048"]
    assert memory_bytes_per_second(1850.0, 384) == 177.6e9
    table = counted_tables("performance")[3]
    row = next(row for row in table.rows if (row[0].printed, row[1].printed) == (TILED, "16"))
    assert (row[5].printed, row[5].here) == ("347.6", "345.6")
    assert any("345.6" in note and "347.6" in note for note in table.notes)
