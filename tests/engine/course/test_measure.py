"""Measuring for real, on the CPU and on tiny pictures, and the files of a paper."""

import csv
import io
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from unittest.mock import Mock

import pytest

import engine.course.bench
import engine.course.tables
from engine.course import cnn
from engine.course.bench import NO_SPEED, Bench, measured_paper
from engine.course.files import csv_of, markdown_of, sheet_of, svg_of
from engine.course.paper import Cell, CourseTable, Figure, Series
from engine.course.papers import PAPERS, paper
from engine.course.runs import Amount, BankRun, FilterRun, ProductRun, filter_run, significant
from engine.course.tables import counted_tables
from engine.errors import Cancelled, DeviceFault
from engine.geometry.block import Layout
from engine.mask.generators import box
from engine.mask.mask import Mask
from engine.results.measurement import Spread, Timing
from engine.run.measure import NO_SAMPLES
from engine.verify.closeness import Verification
from engine.work.filtering.variants import variant
from tests.engine.commands.conftest import OnePixelOff

SERIAL = filter_run(variant="cpu-serial", mask=box(3), side=9)


def measure(key, **options):
    return measured_paper(key, "cpu", sizes=(33,), budget_s=0.001, **options).tables


def cells(tables):
    return [cell for table in tables for row in table.rows for cell in row]


@pytest.fixture(scope="module")
def measured():
    """Every paper's tables, and the (text, fraction, expected seconds) of their progress."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cnn, "FEW_DIGITS", 10)
        # The tests of tables count what other kernels ask for, which takes 8 s.
        counted = engine.course.bench.transactions_per_request

        def counted_or_one(run, checkpoint):
            is_naive = isinstance(run, FilterRun) and run.variant == "naive"
            return counted(run, checkpoint) if is_naive else Amount(1.0)

        patch.setattr(engine.course.bench, "transactions_per_request", counted_or_one)
        for one in PAPERS:
            progress = []
            found[one.key] = measure(one.key, checkpoint=progress.append), progress
    return found


@pytest.mark.slow
def test_that_every_paper_is_measured_on_the_cpu(measured):
    wanted = "This needs a CUDA device: the device chosen is the CPU"
    for key, (tables, _) in measured.items():
        assert tuple(table.title for table in tables) == paper(key).tables
        reasons = {cell.reason for cell in cells(tables)}
        assert "not measured yet" not in reasons
        assert any(reason.startswith(wanted) for reason in reasons)
    assert all(float(row[2].here) > 0 for row in measured["report"][0][0].rows)
    assert float(measured["lab"][0][0].rows[0][1].here) > 0
    tables, _ = measured["convolution"]
    notes = [any("Measured for the sizes 33 only" in note for note in table.notes) for table in tables]
    assert notes == [False, False, False, False, False, True, False]
    texts, fractions, _ = zip(*measured["report"][1], strict=True)
    assert list(fractions) == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    assert texts[0] == "cpu-serial, 33 × 33, Gaussian 5 × 5, sigma 1"
    assert "naive-uncoalesced, 33 × 33, Gaussian 5 × 5, sigma 1, block 8 × 8" in texts


@pytest.mark.slow
def test_that_a_cell_is_expected_to_take_as_long_as_its_work(measured):
    """The client gives up on a host after ten times that: a minute for a small cell would hide a hang."""
    assert max(expected_s for _, progress in measured.values() for *_, expected_s in progress) <= 3.0
    large, steps = SERIAL.changed(mask=box(17), side=4096), []

    def stop(step):
        steps.append(step)
        if step.stage == "first launch":
            raise Cancelled("Stopped")

    with pytest.raises(Cancelled):
        Bench("cpu", NO_SAMPLES).take(large, stop)
    assert steps[-1].expected_s > 4096 * 4096 * 17 * 17 / 1e9


def test_that_it_can_be_stopped_between_samples():
    stop = Mock(side_effect=[None, None, Cancelled("Stopped")])
    with pytest.raises(Cancelled):
        measure("report", checkpoint=stop)


def test_that_a_wrong_result_has_no_time(monkeypatch):
    serial = variant("cpu-serial")
    broken = replace(serial, prepare=lambda *given: OnePixelOff(serial.prepare(*given)))
    monkeypatch.setattr(engine.course.tables, "variant", lambda key: broken)
    found = Bench("cpu", NO_SAMPLES).take(SERIAL)
    assert found.not_verified
    assert found.reason.startswith("not verified: row 0, column 0")
    times, *_ = measure("report")
    assert times.rows[0][2].not_verified


def test_that_what_a_run_waited_for_memory_is_no_part_of_its_copies():
    """Memory is kept between runs: the first of a size waits for it and the others do not."""
    once, copy = Spread((0.5,)), Spread((2.0,))
    timing = Timing(once, once, 0.0, allocate_ms=400.0, host_to_device=copy, device_to_host=copy)
    proof = Verification(True, 0.0, 0.0, 1, 1, True, "")
    result = Mock(failure="", verification=proof, timing=timing, kernel_ms=0.5, task="filtering")
    found = engine.course.bench._measured_of(result)
    assert found == {"kernel_ms": 0.5, "copy_in_ms": 2.0, "copy_out_ms": 2.0}


def test_that_only_a_lost_device_ends_the_measuring(monkeypatch):
    bench = Bench("cpu", NO_SAMPLES)
    assert "no variant is called that" in bench.take(SERIAL.changed(variant="nave")).reason
    lost = DeviceFault("cuda:0", "illegal address", "Start again.")
    monkeypatch.setattr(Bench, "_picture", Mock(side_effect=[MemoryError, lost]))
    assert bench.take(SERIAL).reason == "Not enough memory: the system gave no more."
    with pytest.raises(DeviceFault):
        bench.take(SERIAL)


@pytest.mark.slow
def test_that_copies_banks_and_products_are_verified_in_the_simulator():
    simulated, copied = Bench("simulator", NO_SAMPLES), {"variant": "copy", "side": 13}
    for run in (
        filter_run(mask=Mask([[1.0]]), **copied),
        filter_run(mask=Mask([[1.0]]), layout=Layout.PACKED, **copied),
        BankRun(3, 3, 9),
        ProductRun("matmul-tiled", 7, 4),
    ):
        found = simulated.take(run)
        assert (found.reason, found.not_verified) == (NO_SPEED, False), (run, found)
    refused = simulated.take(filter_run(mask=Mask([[2.0]]), **copied))
    assert "A copy has the mask of one cell" in refused.reason


LAB, REPORT = paper("lab"), paper("report")
MACHINE = (("CPU", "a model, 2 cores"), ("CUDA device", "none: no driver"), ("Commit", "abc1234"))
SVG = "{http://www.w3.org/2000/svg}"

ROWS = (
    (Cell("a | b"), Cell("-0.5", "-0.25"), Cell("", "7")),
    (Cell("=1+1"), Cell("", "", "no device"), Cell("", "", "no device")),
)
TABLE = CourseTable("A table", ("Name", "Value", "More"), ROWS, ("a note",))


def test_that_a_sheet_has_numbers_of_four_digits_beside_those_of_the_paper():
    values = (0, 1, 0.0001296, -2.604166e-6, 50.80310, 12.0)
    assert [significant(value) for value in values] == ["0", "1", "0.0001296", "-0.000002604", "50.8", "12"]
    sheet = sheet_of(TABLE)
    titles = ["Name", "Value (paper)", "Value (here)", "More (here)"]
    assert [column.title for column in sheet.columns] == titles
    assert sheet.rows == (("a | b", "-0.5", "-0.25", "7"), ("=1+1", "", "(1)", "(1)"))
    assert (sheet.reasons, sheet.numbers) == (("no device",), {1, 2, 3})


def test_that_the_markdown_has_all_that_a_paper_tells():
    text = markdown_of(REPORT, counted_tables("report"), MACHINE)
    lines = text.splitlines()
    assert lines[0] == "# CUDA Assignment 3: 2D Convolution"
    assert [line[3:] for line in lines if line.startswith("## ")] == ["Which kernel is which", *REPORT.tables]
    headings = "Matrix Size", "Time naïve (s) (paper)", "Speedup Optimized (here)", "# FP operations (here)"
    for heading in headings:
        assert f"| {heading} |" in text
    assert "- CUDA device: none: no driver" in lines
    assert "- Commit: abc1234" in lines
    optimized = next(line for line in lines if line.startswith("| ConvolutionKernel\\_optimized |"))
    assert "`cached-constant`" in optimized
    assert "(1) not measured yet  " in lines
    assert "| 512x512 | 8 | 0.018511 | (1) | 0.000402 | (1) |" in text
    for one in PAPERS:
        text = markdown_of(one, counted_tables(one.key), MACHINE)
        for block in text.split("\n\n"):
            lines = [line.replace(r"\|", "") for line in block.splitlines() if line.startswith("|")]
            assert len({line.count("|") for line in lines}) <= 1, lines


def test_that_csv_is_read_by_spreadsheets_as_it_is_meant():
    assert list(csv.reader(io.StringIO(csv_of(LAB, TABLE, MACHINE), newline=""))) == [
        ["# Paper", LAB.citation],
        ["# Table", "A table"],
        *([f"# {name}", value] for name, value in MACHINE),
        ["# Note", "a note"],
        ["Name", "Value (paper)", "Value (here)", "More (here)", "why a cell is empty"],
        ["a | b", "-0.5", "-0.25", "7", ""],
        ["'=1+1", "", "", "", "no device"],
    ]


def texts_of(svg):
    return [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.slow
def test_that_a_figure_has_its_words_as_text():
    here = Series("L0", (256.0, 512.0), (3.0, None), "separable-l0")
    printed = Series("L0", (256.0, 512.0), (24.0, 33.0))
    figure = Figure("Speed-up", "size", "times", (here,), (printed,), log_y=True)
    svg = svg_of(figure)
    assert {"Speed-up", "size", "times", "L0", "L0 (paper)"} <= set(texts_of(svg))
    assert "#0072b2" in svg.decode()
    assert "<dc:date>" not in svg.decode()
    assert svg_of(figure) == svg
    empty = Figure("Empty", "x", "y", (Series("a", (1.0,), (None,)),))
    assert "nothing was measured" in texts_of(svg_of(empty))
