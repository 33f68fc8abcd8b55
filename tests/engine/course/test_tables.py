"""What the tables make of measured values."""

import pytest

from engine.course.runs import BusRun, FilterRun, ProductRun
from engine.course.tables import tables_module
from engine.geometry.layout import Layout
from tests.engine.course.made import here, tables_from


def report_times(run):
    """Return times that grow with the block: serial 100 ms, naive side / 8 ms, cached side / 16 ms."""
    if run.variant == "cpu-serial":
        return {"kernel_ms": 100.0}
    side = run.block.x
    return {"kernel_ms": side / (8 if run.variant == "naive" else 16), "overhead_ms": 10.0}


def test_that_the_reports_times_changes_overhead_and_gflops_come_out():
    times, naive, optimized, overhead, gflops = tables_from("report", report_times, (512,))
    # Times are seconds, speed-ups their quotients.
    assert here(times) == [
        ["0.1", "0.001", "0.0005", "100", "200"],
        ["0.1", "0.002", "0.001", "50", "100"],
        ["0.1", "0.004", "0.002", "25", "50"],
    ]
    assert [row[2].printed for row in times.rows] == ["0.018511", "0.018466", "0.018533"]

    # 1 ms more for 8 more along each side, which are 192 threads; 2 ms for 16, which are 768.
    assert here(naive) == [["0.001", "0.000125", "0.000005208"], ["0.002", "0.000125", "0.000002604"]]
    assert here(optimized) == [["0.0005", "0.0000625", "0.000002604"], ["0.001", "0.0000625", "0.000001302"]]

    # The overhead is a fraction of the kernel with blocks of 8; GFLOPS are those of 16.
    assert here(overhead) == [["0.01", "0.01", "10", "20"]]
    # 25 x 512 x 512 operations in 2 and in 1 ms; and twice as many.
    assert here(gflops) == [["6553600", "3.277", "6.554", "6.554", "13.11"]]


def test_that_a_missing_time_empties_only_what_needs_it_and_says_why():
    def without_naive(run):
        return None if run.variant == "naive" else report_times(run)

    times, *_ = tables_from("report", without_naive, (512, 33))
    lost = "no such luck"
    assert here(times)[0] == ["0.1", lost, "0.0005", lost, "200"]
    assert [cell.printed for cell in times.rows[3]] == ["33x33", "8", "", "", "", "", ""]


def lab_times(run):
    """Return 40 ms for each serial pass and 8, 4, 5 ms for the levels."""
    level_ms = {"separable-l0": 8.0, "separable-l1": 4.0, "separable-l2": 5.0}
    return {"kernel_ms": level_ms.get(run.variant, 40.0)}


def test_that_the_labs_serial_time_is_both_passes_each_level_is_over_the_one_before_and_curves_follow():
    times, speed_ups = tables_from("lab", lab_times, (256, 4096))
    assert here(times) == [["80", "8", "4", "5"]] * 2
    assert here(speed_ups) == [["10", "2", "0.8"]] * 2
    assert [cell.printed for cell in speed_ups.rows[0]] == ["256", "24.32", "1.09", "1.04"]

    assert [(curve.name, curve.variant, curve.y) for curve in times.figure.series] == [
        ("Serial", "cpu-serial", (80.0, 80.0)),
        ("L0", "separable-l0", (8.0, 8.0)),
        ("L1", "separable-l1", (4.0, 4.0)),
        ("L2", "separable-l2", (5.0, 5.0)),
    ]
    assert times.figure.printed == ()
    assert [(curve.name, curve.x, curve.y) for curve in speed_ups.figure.printed] == [
        ("L0", (256.0, 4096.0), (24.32, 54.22)),
        ("L1", (256.0, 4096.0), (1.09, 1.15)),
        ("L2", (256.0, 4096.0), (1.04, 0.99)),
    ]
    # A curve has a gap where nothing was measured.
    _, speed_ups = tables_from("lab", lambda run: None if run.width == 256 else lab_times(run), (256, 512))
    assert [curve.y for curve in speed_ups.figure.series] == [(None, 10.0), (None, 2.0), (None, 0.8)]


def lecture_values(run):
    """Return a device of 100 GB/s and, for every run, round times."""
    if isinstance(run, BusRun):
        return {"memory_clock_mhz": 1000.0, "bus_width_bits": 400, "bytes_per_second": 100e9}
    if isinstance(run, ProductRun):
        return {"kernel_ms": 2.0, "gflops": 10.0 * run.tile if run.variant == "matmul-tiled" else 5.0}
    if isinstance(run, FilterRun):
        return {"kernel_ms": 0.1}
    return {"kernel_ms": 0.25, "host_ms": 0.5}


def test_that_bandwidths_timers_and_tiles_come_out():
    timers, theoretical, effective, cgma, tiles, _ = tables_from("performance", lecture_values, (1024,))
    assert here(timers) == [["0.5", "0.25", "0.25"]]
    assert here(theoretical) == [["1", "400", "100"]]
    # 8 MiB in 0.1 ms are 83.9 GB/s.
    assert here(effective) == [["8388608", "0.1", "83.89", "83.89"]]
    assert [row[-1] for row in here(cgma)] == ["25", "50", "100", "200", "400", "800"]
    rates, speed_ups = ("5", "20", "40", "80", "160", "320"), ("1", "4", "8", "16", "32", "64")
    assert [tuple(row[1:]) for row in here(tiles)] == list(zip(rates, speed_ups, strict=True))
    tiled, naive = tiles.figure.series
    assert (tiled.x, tiled.y) == ((2.0, 4.0, 8.0, 16.0, 32.0), (20.0, 40.0, 80.0, 160.0, 320.0))
    assert (naive.x, naive.y) == ((2.0, 32.0), (5.0, 5.0))


def test_that_layouts_and_banks_are_compared():
    *_, layouts = tables_from(
        "convolution", lambda run: {"kernel_ms": 3.0 if run.layout is Layout.PACKED else 2.0}, (1001,)
    )
    assert here(layouts) == [["3", "2", "1.5"]]
    *_, banks = tables_from(
        "cnn", lambda run: {"kernel_ms": 2.0 if isinstance(run, FilterRun) else 4.0}, (64,)
    )
    assert here(banks) == [["2", "4", "0.5"], ["16", "4", "4"], ["64", "4", "16"]]


@pytest.mark.parametrize("key", ["report", "lab"])
def test_that_each_run_is_asked_for_once(key):
    runs = tables_module(key).runs(None)
    assert len(set(runs)) == len(runs)
