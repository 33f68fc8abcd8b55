"""The table of measured times: complete, and read between its points and past them."""

import json
import math
from dataclasses import replace
from itertools import product

import pytest

from engine.device.cpu import cpu_info
from engine.device_info import DeviceInfo
from engine.geometry.border import Border
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.costs import (
    TABLE_PATH,
    CostTable,
    Rates,
    cost_table,
    kind_of,
    mask_side_of,
    nearest_kind,
    rates_of,
    repeated,
)
from engine.variants.registry import VARIANTS, variant

# Every time doubles with the picture's side squared and grows with the mask's area; nothing is moved.
TABLE = CostTable(
    Rates(1e12, 100.0), (512, 1024), (3, 9), {"tiled": {"float32 x 1": [[9.0, 81.0], [36.0, 324.0]]}}
)


def problem_of(height, width, mask_shape, channels=1):
    return Problem(height, width, channels, mask_shape=mask_shape, anchor=(0, 0))


@pytest.mark.parametrize(
    ("side", "mask_shape", "wanted_us"),
    [
        (512, (3, 3), 9.0), (1024, (9, 9), 324.0), (724, (5, 5), 49.98), (2048, (18, 18), 5184.0),
        (1024, (3, 27), 324.0),
    ],
)  # fmt: skip
def test_that_times_lie_on_straight_lines_of_logarithms(side, mask_shape, wanted_us):
    found = TABLE.time_us(variant("tiled"), problem_of(side, side, mask_shape), TABLE.rates)
    assert found == pytest.approx(wanted_us, rel=1e-3)


def test_that_channels_count_as_pixels_where_only_grey_was_measured_whatever_the_border():
    grey = TABLE.time_us(variant("tiled"), problem_of(1024, 512, (3, 3)), TABLE.rates)
    assert TABLE.time_us(variant("tiled"), problem_of(512, 512, (3, 3), 2), TABLE.rates) == grey
    row = {"ghost cells, float32 x 3": [[9.0]]}
    table = CostTable(Rates(1e12, 100.0), (512,), (3,), {"tiled": row})
    found = table.time_us(variant("tiled"), problem_of(512, 512, (3, 3), 3), table.rates)
    assert found == pytest.approx(9.0, rel=1e-3)


def test_that_holes_in_the_table_are_read_past_and_a_variant_without_a_row_takes_for_ever():
    table = replace(TABLE, times_us={"tiled": {"float32 x 1": [[9.0, None], [None, None]]}}, _lines={})
    problem = problem_of(1024, 1024, (9, 9))
    assert table.time_us(variant("tiled"), problem, table.rates) == pytest.approx(324.0)
    assert math.isinf(table.time_us(variant("naive"), problem, table.rates))


def test_that_memory_and_multiply_adds_are_scaled_apart():
    samples, copy_us = 1024 * 1024, 18.0
    rates = Rates(samples * 8 / copy_us / 1e3, 100.0)
    table = CostTable(rates, (1024,), (3,), {"tiled": {"float32 x 1": [[48.0]]}})
    found = table.time_us(variant("tiled"), problem_of(1024, 1024, (3, 3)), Rates(rates.copy_gb_s / 2, 25.0))
    assert found == pytest.approx(2 * 18.0 + 4 * 30.0)


def test_that_the_shape_of_a_mask_counts_by_what_a_variant_does_with_it():
    problem = problem_of(9, 9, (4, 36))
    assert mask_side_of(variant("tiled"), problem) == 12
    assert mask_side_of(variant("separable-l1"), problem) == 20
    assert mask_side_of(variant("cpu-box"), problem) == 20
    assert mask_side_of(variant("row-tiled"), problem_of(9, 9, (1, 36))) == 36


GREY, RGB = "uint8 x 1", "uint8 x 3"
KINDS = (GREY, RGB, "float32 x 1")
GHOSTS = ("float32 x 1", "ghost cells, float32 x 1", RGB)
RESULTS = (GREY, "uint8 to uint8 x 1", RGB, "uint16 x 1")


@pytest.mark.parametrize(
    ("problem", "kinds", "nearest"),
    [
        (Problem(9, 9, 4, "uint16"), KINDS, RGB),
        (Problem(9, 9, 3, "float32"), KINDS, "float32 x 1"),
        (Problem(9, 9), (), None),
        (Problem(9, 9, border=Border.CONSTANT), GHOSTS, "ghost cells, float32 x 1"),
        (Problem(9, 9, border=Border.WRAP), GHOSTS, "float32 x 1"),
        (Problem(9, 9, 3, "uint8", border=Border.ZERO), GHOSTS, RGB),
        (Problem(9, 9, 1, "uint8", result_dtype="uint8"), RESULTS, "uint8 to uint8 x 1"),
        (Problem(9, 9, 1, "uint8"), RESULTS, GREY),
        (Problem(9, 9, 3, "uint8", result_dtype="uint8"), RESULTS, RGB),
        (Problem(9, 9, 1, "uint16", result_dtype="uint16"), RESULTS, "uint16 x 1"),
    ],
)
def test_that_times_of_the_nearest_kind_of_samples_borders_and_results_are_read(problem, kinds, nearest):
    assert nearest_kind(problem, dict.fromkeys(kinds, 0)) == nearest


def test_that_work_done_more_often_lies_on_the_line_of_two_rows():
    rows = {"digit-sums": {"uint8 x 1": [[10.0]]}, repeated("digit-sums"): {"uint8 x 1": [[16.0]]}}
    table = CostTable(Rates(1e12, 100.0), (512,), (3,), rows)
    problem = replace(problem_of(512, 512, (3, 3)), dtype="uint8")
    found = [table.time_us(variant("digit-sums"), problem, table.rates, repeats) for repeats in (1, 2, 4, 6)]
    assert found == pytest.approx([10.0, 12.0, 16.0, 20.0], rel=1e-3)


def test_that_a_device_is_measured_by_its_facts():
    facts = {"multiprocessors": "10", "clock": "2000 MHz"}
    device = DeviceInfo("cuda:0", "cuda", "small", True, "", True, facts, bandwidth_gb_s=200.0)
    assert rates_of(device, TABLE.rates) == Rates(170.0, 2560.0)
    assert rates_of(DeviceInfo("cuda:0", "cuda", "odd", True, "", True), TABLE.rates) == TABLE.rates
    assert rates_of(cpu_info(), TABLE.rates).multiply_adds_g_s == 50.0 * int(cpu_info().facts["cores"])


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_that_the_table_is_whole_and_says_where_it_is_from(device):
    table = json.loads(TABLE_PATH.read_text(encoding="utf-8"))[device]
    assert table["from"]
    read = cost_table(device)
    keys = {known.key for known in VARIANTS if known.device.value == device}
    for key, kinds in read.times_us.items():
        assert key in keys | {repeated(known) for known in keys}
        types = (("uint8", "float32"), ("uint8", "uint8"), ("uint16", "float32"), ("float32", "float32"))
        assert kinds.keys() <= {
            kind_of(dtype, channels, has_ghost_cells=ghosts, result_dtype=result)
            for (dtype, result), channels, ghosts in product(types, (1, 3), (False, True))
        }
        for rows in kinds.values():
            assert len(rows) == len(read.picture_sides)
            assert all(len(row) == len(read.mask_sides) for row in rows)
            assert all(time is None or 0.0 < time < 1e9 for row in rows for time in row)
