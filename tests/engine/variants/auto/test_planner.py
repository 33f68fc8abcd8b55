"""What `auto` chooses and why, and the table of measured times that it reads."""

import json
import math
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from msgspec import structs

from engine.device.device_list import cpu_info, simulator_info
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering import planner
from engine.work.filtering.planner import choose, holds_bound
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.problem import Problem
from tests.engine.variants.case_lists import LIMITS, mask_for

# Every time doubles with the picture's side squared and grows with the mask's area; nothing is moved.
TABLE = planner.CostTable(
    planner.Rates(1e12, 100.0), (512, 1024), (3, 9), {"tiled": {"float32 x 1": [[9.0, 81.0], [36.0, 324.0]]}}
)


def sized(height, width, mask_shape, channels=1):
    return Problem(height, width, channels, mask_shape=mask_shape, anchor=(0, 0))


def time_of(problem, rates=None, key="tiled", table=TABLE, **kept):
    return table.time_us(variant(key), problem, rates or table.rates, **kept)


def test_that_times_lie_on_straight_lines_of_logarithms_and_holes_are_read_past():
    for side, mask_shape, wanted_us in [
        (512, (3, 3), 9.0),
        (1024, (9, 9), 324.0),
        (724, (5, 5), 49.98),
        (2048, (18, 18), 5184.0),
        (1024, (3, 27), 324.0),
    ]:
        assert time_of(sized(side, side, mask_shape)) == pytest.approx(wanted_us, rel=1e-3)
    table = replace(TABLE, times_us={"tiled": {"float32 x 1": [[9.0, None], [None, None]]}}, _lines={})
    assert time_of(sized(1024, 1024, (9, 9)), table=table) == pytest.approx(324.0)
    assert math.isinf(time_of(sized(1024, 1024, (9, 9)), key="naive", table=table))


def test_that_channels_count_as_pixels_where_only_grey_was_measured_whatever_the_border():
    assert time_of(sized(512, 512, (3, 3), 2)) == time_of(sized(1024, 512, (3, 3)))
    row = {"ghost cells, float32 x 3": [[9.0]]}
    table = planner.CostTable(planner.Rates(1e12, 100.0), (512,), (3,), {"tiled": row})
    assert time_of(sized(512, 512, (3, 3), 3), table=table) == pytest.approx(9.0, rel=1e-3)


def test_that_memory_and_multiply_adds_are_scaled_apart():
    samples, copy_us = 1024 * 1024, 18.0
    rates = planner.Rates(samples * 8 / copy_us / 1e3, 100.0)
    table = planner.CostTable(rates, (1024,), (3,), {"tiled": {"float32 x 1": [[48.0]]}})
    found = time_of(sized(1024, 1024, (3, 3)), planner.Rates(rates.copy_gb_s / 2, 25.0), table=table)
    assert found == pytest.approx(2 * 18.0 + 4 * 30.0)


def test_that_the_shape_of_a_mask_counts_by_what_a_variant_does_with_it():
    problem = sized(9, 9, (4, 36))
    assert planner.mask_side_of(variant("tiled"), problem) == 12
    assert planner.mask_side_of(variant("separable-l1"), problem) == 20
    assert planner.mask_side_of(variant("cpu-box"), problem) == 20
    assert planner.mask_side_of(variant("row-tiled"), sized(9, 9, (1, 36))) == 36


GREY, RGB = "uint8 x 1", "uint8 x 3"
KINDS = (GREY, RGB, "float32 x 1")
GHOSTS = ("float32 x 1", "ghost cells, float32 x 1", RGB)
RESULTS = (GREY, "uint8 to uint8 x 1", RGB, "uint16 x 1")


def test_that_times_of_the_nearest_kind_of_samples_borders_and_results_are_read():
    for problem, kinds, nearest in [
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
    ]:
        assert planner.nearest_kind(problem, dict.fromkeys(kinds, 0)) == nearest


def test_that_work_done_more_often_lies_on_the_line_of_two_rows():
    rows = {"digit-sums": {"uint8 x 1": [[10.0]]}, planner.repeated("digit-sums"): {"uint8 x 1": [[16.0]]}}
    table = planner.CostTable(planner.Rates(1e12, 100.0), (512,), (3,), rows)
    problem = structs.replace(sized(512, 512, (3, 3)), dtype="uint8")
    found = [table.time_us(variant("digit-sums"), problem, table.rates, repeats) for repeats in (1, 2, 4, 6)]
    assert found == pytest.approx([10.0, 12.0, 16.0, 20.0], rel=1e-3)


def test_that_a_device_is_measured_by_its_facts():
    facts = {"multiprocessors": "10", "clock": "2000 MHz"}
    device = DeviceInfo("cuda:0", "cuda", "small", True, None, True, facts, bandwidth_gb_s=200.0)
    assert planner.rates_of(device, TABLE.rates) == planner.Rates(170.0, 2560.0)
    assert planner.rates_of(DeviceInfo("cuda:0", "cuda", "odd", True, None, True), TABLE.rates) == TABLE.rates
    cores = int(cpu_info().facts["cores"])
    assert planner.rates_of(cpu_info(), TABLE.rates).multiply_adds_g_s == 50.0 * cores


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_that_the_table_says_where_it_is_from(device):
    table = json.loads(planner.table_path(device).read_text(encoding="utf-8"))
    assert table["from"]
    read = planner.cost_table(device)
    keys = {known.key for known in VARIANTS if known.device.value == device}
    for key, kinds in read.times_us.items():
        assert key in keys | {planner.repeated(known) for known in keys}
        types = (("uint8", "float32"), ("uint8", "uint8"), ("uint16", "float32"), ("float32", "float32"))
        assert kinds.keys() <= {
            planner.kind_of(dtype, channels, has_ghost_cells=ghosts, result_dtype=result)
            for (dtype, result), channels, ghosts in product(types, (1, 3), (False, True))
        }
        for rows in kinds.values():
            assert len(rows) == len(read.picture_sides)
            assert all(len(row) == len(read.mask_sides) for row in rows)
            assert all(time is None or 0.0 < time < 1e9 for row in rows for time in row)


CPU, CUDA = cpu_info(), simulator_info()
BOX = Mask(np.ones((15, 15)))
ROUND = Mask(np.outer([1.0, 2.0, 1.0], [1.0, 3.0, 1.0]))
ODD = Mask(np.random.default_rng(1).standard_normal((9, 9)))
IMAGE = np.zeros((9, 9, 1), np.uint8)


def problem_of(mask, dtype="float32", side=1024):
    return Problem(side, side, dtype=dtype, mask_shape=mask.shape, anchor=mask.anchor)


def costing(monkeypatch, **times_us):
    """Let every named variant cost so much, whatever the problem, and the others have no times."""
    rows = {key.replace("_", "-"): {"float32 x 1": [[time]]} for key, time in times_us.items()}
    table = planner.CostTable(planner.Rates(1e9, 1.0), (1024,), (9,), rows)
    monkeypatch.setattr(planner, "cost_table", lambda kind: table)
    monkeypatch.setattr(planner, "rates_of", lambda device, measured: measured)


def test_that_auto_chooses_what_can_run_there():
    for mask in [BOX, ROUND, ODD, Mask([[2.0]]), Mask(np.ones((63, 62)))]:
        for device in [CPU, CUDA]:
            choice = choose(AUTO, problem_of(mask), mask, None, device)
            assert choice.variant.device.value == device.kind
            assert choice.variant.unsupported(problem_of(mask), mask, choice.block, device.limits) is None
            # A simulator has no times of its own.
            on_which = " on the GPU that was measured" if device.key == "simulator" else ""
            figure = r"\d[\d.,e-]* ms"
            words = rf"estimated {figure}{on_which}; next best: [a-z0-9-]+ \({figure}\)"
            assert re.match(words, choice.reason.clauses)


def test_that_the_cheapest_is_chosen_before_all_without_times(monkeypatch):
    costing(monkeypatch, naive=9000.0, tiled=400.0, box=41.0)
    choice = choose(AUTO, problem_of(BOX, side=1024), BOX, None, CUDA)
    assert choice.variant.key == "box"
    assert choice.reason.clauses.startswith("estimated 0.0")
    assert "; next best: tiled (" in choice.reason.clauses
    assert choose(AUTO, problem_of(ODD), ODD, None, CUDA).variant.key == "tiled"
    costing(monkeypatch, naive=1e6)
    assert choose(AUTO, problem_of(ODD), ODD, None, CUDA).variant.key == "naive"
    costing(monkeypatch)
    assert "nothing was measured" in choose(AUTO, problem_of(ODD), ODD, None, CUDA).reason.clauses


def test_that_a_plain_sum_wins_where_another_method_is_hardly_faster(monkeypatch):
    mask = Mask(np.ones((9, 9)))
    costing(monkeypatch, tiled=104.0, box=100.0)
    assert choose(AUTO, problem_of(mask), mask, None, CUDA).variant.key == "tiled"
    costing(monkeypatch, tiled=106.0, box=100.0)
    assert choose(AUTO, problem_of(mask), mask, None, CUDA).variant.key == "box"


def test_that_a_transform_is_chosen_only_where_results_are_whole_numbers(monkeypatch):
    costing(monkeypatch, cpu_parallel=1000.0, cpu_fft=10.0)
    floats = choose(AUTO, problem_of(ODD), ODD, None, CPU)
    assert floats.variant.key == "cpu-parallel"
    words = r"; not cpu-fft \(.* ms\): its error may exceed that of a direct sum"
    assert re.search(words, floats.reason.clauses)
    whole = Mask(np.arange(81.0).reshape(9, 9) % 7)
    exact = choose(AUTO, problem_of(whole, "uint8"), whole, None, CPU)
    assert exact.variant.key == "cpu-fft"
    assert "Fourier transform" in exact.reason.clauses


def test_that_two_passes_over_a_few_cells_are_not_sure_of_the_bound():
    for shape, sure in (((2, 2), False), ((2, 4), False), ((4, 2), False), ((2, 5), True), ((1, 2), True)):
        mask = Mask(np.ones(shape))
        assert holds_bound(variant("separable-l0"), problem_of(mask), mask) is sure
        assert holds_bound(variant("tiled"), problem_of(mask), mask)


def test_that_a_variant_that_is_asked_for_is_taken_at_its_word():
    choice = choose("cpu-serial", problem_of(BOX), BOX, None, CPU)
    assert (choice.variant.key, choice.reason) == ("cpu-serial", None)


def test_that_8_bit_results_are_written_by_one_that_can(monkeypatch):
    costing(monkeypatch, cpu_serial=900.0, cpu_box=10.0)
    problem = structs.replace(problem_of(BOX, "uint8"), result_dtype="uint8")
    choice = choose(AUTO, problem, BOX, None, CPU)
    assert choice.variant.integer_output
    assert ("cpu-box would be faster" in choice.reason.clauses) is not variant("cpu-box").integer_output


def test_that_the_first_of_a_kind_is_named_where_no_block_suits():
    device = replace(CUDA, limits=Limits(shared_bytes=0, max_threads=0))
    choice = choose(AUTO, problem_of(BOX), BOX, Block(99, 99), device)
    first = next(known for known in VARIANTS if known.device is DeviceKind.CUDA)
    assert choice.variant is first


def refusal_of(known, result_dtype):
    mask = mask_for(known, 3, 3)
    problem = describe_problem(IMAGE, mask, "zero", 0.0, result_dtype)
    return known.why_not(problem, mask, known.default_block, LIMITS, VARIANTS)


def test_that_a_variant_without_8_bit_results_is_refused_by_name_of_those_that_have_them():
    for known in VARIANTS:
        own = refusal_of(known, "uint8" if known.uint8_only else "float32")
        assert own is None or known.library
        refusal = refusal_of(replace(known, integer_output=False), "uint8")
        assert refusal.nearest_block is None
        words = "It writes float32 results only. Choose float32 results, or for uint8 one of: "
        assert str(refusal).startswith(words)
        textbook = "cpu-serial" if known.device is DeviceKind.CPU else "naive"
        assert textbook in str(refusal)
        assert refusal_of(variant(textbook), "uint8") is None
