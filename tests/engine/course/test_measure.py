"""Measuring for real, on the CPU and on tiny pictures; what a GPU would do is in tests/gpu."""

from dataclasses import replace
from unittest.mock import Mock

import pytest

import engine.course.bench
from engine.course.bench import Bench
from engine.course.measure import tables_of
from engine.course.papers import PAPERS, paper
from engine.course.runs import FilterRun
from engine.errors import BadValue, Cancelled, DeviceFault
from engine.mask.generators import box
from engine.run.sampling import NO_SAMPLES
from engine.variants.registry import variant
from tests.engine.commands.wrong_variant import OnePixelOff
from tests.fresh_python import fresh_python

SERIAL = FilterRun(variant="cpu-serial", mask=box(3), width=9, height=7)


def measure(key, **options):
    return tables_of(key, "cpu", sizes=(33,), budget_s=0.001, **options)


def cells(tables):
    return [cell for table in tables for row in table.rows for cell in row]


@pytest.fixture(scope="module")
def measured():
    """Every paper's tables, and the (text, fraction, expected seconds) of their progress."""
    found = {}
    for one in PAPERS:
        progress = []
        tables = measure(one.key, on_progress=lambda *step, progress=progress: progress.append(step))
        found[one.key] = tables, progress
    return found


def test_that_every_paper_is_measured_on_the_cpu_and_its_gpu_cells_say_why_they_are_empty(measured):
    wanted = "This needs a CUDA device: the device chosen is the CPU"
    for key, (tables, _) in measured.items():
        assert tuple(table.title for table in tables) == paper(key).tables
        reasons = {cell.reason for cell in cells(tables)}
        assert "not measured yet" not in reasons
        assert any(reason.startswith(wanted) for reason in reasons)
    assert all(float(row[2].here) > 0 for row in measured["report"][0][0].rows)
    assert float(measured["lab"][0][0].rows[0][1].here) > 0


def test_that_only_tables_with_other_rows_say_that_they_were_restricted(measured):
    tables, _ = measured["convolution"]
    notes = [any("Measured for the sizes 33 only" in note for note in table.notes) for table in tables]
    assert notes == [False, False, False, False, True]


def test_that_progress_rises_to_one_and_names_what_is_measured(measured):
    texts, fractions, _ = zip(*measured["report"][1], strict=True)
    assert list(fractions) == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    assert texts[0] == "cpu-serial, 33 x 33, Gaussian 5 x 5, sigma 1"
    assert "naive, 33 x 33, Gaussian 5 x 5, sigma 1, block 8 x 8" in texts


def test_that_a_small_cell_is_expected_to_take_seconds_and_a_large_one_as_long_as_its_work(measured):
    """The client gives up on a host after ten times that: a minute for a small cell would hide a hang."""
    assert max(expected_s for _, progress in measured.values() for *_, expected_s in progress) <= 3.0
    large, steps = replace(SERIAL, mask=box(17), width=4096, height=4096), []

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
        measure("report", on_progress=stop)


def test_that_a_wrong_result_has_no_time_and_is_told_apart(monkeypatch):
    serial = variant("cpu-serial")
    broken = replace(serial, prepare=lambda *given: OnePixelOff(serial.prepare(*given)))
    monkeypatch.setattr(engine.course.bench, "variant", lambda key: broken)
    found = Bench("cpu", NO_SAMPLES).take(SERIAL)
    assert found.values == {}
    assert found.not_verified
    assert found.reason.startswith("not verified: row 0, column 0")
    times, *_ = measure("report")
    assert times.rows[0][2].not_verified


def test_that_an_unknown_variant_and_a_lack_of_memory_are_reasons_but_not_a_lost_device(monkeypatch):
    bench = Bench("cpu", NO_SAMPLES)
    assert "no variant is called that" in bench.take(replace(SERIAL, variant="nave")).reason
    lost = DeviceFault("cuda:0", "illegal address", "Start again.")
    monkeypatch.setattr(Bench, "_picture", Mock(side_effect=[MemoryError, lost]))
    assert bench.take(SERIAL).reason == "Not enough memory: the system gave no more."
    with pytest.raises(DeviceFault):
        bench.take(SERIAL)


@pytest.mark.parametrize("sizes", [(0,), (512, 16_385), ()])
def test_that_sizes_out_of_range_are_refused(sizes):
    with pytest.raises(BadValue, match="a side has 1 to 16,384 pixels"):
        tables_of("report", "cpu", sizes=sizes)


# The runs that only a GPU can do, on Numba's simulator, which has a process of its own; it has no times.
IN_SIMULATOR = """
from engine.course.bench import NO_SPEED, Bench
from engine.course.runs import BankRun, BusRun, FilterRun, ProductRun
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.run.sampling import NO_SAMPLES
bench = Bench("simulator", NO_SAMPLES)
for run in (
    FilterRun(variant="copy", mask=Mask([[1.0]]), width=13, height=5),
    FilterRun(variant="copy", mask=Mask([[1.0]]), width=13, height=5, layout=Layout.PACKED),
    BankRun(3, 3, 9),
    ProductRun("matmul-tiled", 7, 4),
):
    found = bench.take(run)
    assert (found.reason, found.not_verified) == (NO_SPEED, False), (run, found)
assert "a simulated device has none" in bench.take(BusRun()).reason
doubled = FilterRun(variant="copy", mask=Mask([[2.0]]), width=13, height=5)
assert "A copy has the mask of one cell" in bench.take(doubled).reason
"""


@pytest.mark.slow
def test_that_copies_banks_and_products_are_verified_in_the_simulator():
    fresh_python("-c", IN_SIMULATOR, simulated=True)
