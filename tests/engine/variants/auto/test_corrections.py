"""Corrections of the grid of times by random problems: what is near counts, what is far does not."""

import json
import math
from dataclasses import replace

import pytest

from bench.choices import Draw, Measured, drawn, packed, unpacked
from bench.corrections import LEAST_POINTS, fitted
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.corrections import Correction, coordinates_of, corrections, point_of
from engine.variants.auto.costs import cost_table
from engine.variants.registry import variant

BLOCKED = variant("register-blocked")
NEAR = Problem(1000, 1500, 1, "float32", (9, 9), (4, 4))
FAR = Problem(6000, 200, 4, "float32", (2, 31), (1, 15))


def test_that_a_point_counts_by_its_weight_and_far_away_the_mean_remains():
    point = point_of(BLOCKED, NEAR, 1)
    correction = Correction((point,), (0.2,), 0.1)
    assert correction.factor(point) == pytest.approx(math.exp(0.1 + 2.5 * 0.2))
    assert correction.factor(point_of(BLOCKED, FAR, 1)) == pytest.approx(math.exp(0.1), rel=0.05)


def test_that_split_float16_jumps_where_a_mask_takes_another_eight_of_cells():
    split = variant("split-float16")
    nine, ten = (Problem(1000, 1000, 1, "float32", (9, side), (4, side // 2)) for side in (9, 10))
    coordinates = [coordinates_of(point_of(split, problem, 1)) for problem in (nine, ten)]
    assert coordinates[1][-1] - coordinates[0][-1] == 3.0


def test_that_the_table_says_what_it_measured_times_the_correction():
    table = cost_table("cuda")
    kinds = corrections("cuda")["register-blocked"]
    factor = kinds["float32 to float32"].factor(point_of(BLOCKED, NEAR, 1))
    measured_us = table.measured_us(BLOCKED, NEAR, table.rates)
    assert table.time_us(BLOCKED, NEAR, table.rates) == pytest.approx(factor * measured_us)


def test_that_corrections_are_fitted_to_what_problems_took():
    table = cost_table("cuda")
    draws = [
        Draw(replace(draw.problem, dtype="float32", result_dtype="float32"), draw.kind, draw.seed)
        for draw in drawn(1, 220)
    ]
    learned, judged = draws[:200], [draw for draw in draws[200:] if draw.problem.samples > 4e6]
    cells = [
        Measured(draw, {BLOCKED.key: 1.5e-3 * table.measured_us(BLOCKED, draw.problem, table.rates)})
        for draw in learned
    ]
    kinds = fitted(unpacked(json.loads(json.dumps(packed(cells)))), "cuda")[BLOCKED.key]
    (one,) = kinds.values()
    correction = Correction(tuple(map(tuple, one["points"])), tuple(one["weights"]), one["mean"])
    for draw in judged:
        assert correction.factor(point_of(BLOCKED, draw.problem, 1)) == pytest.approx(1.5, rel=0.1)
    assert fitted(cells[: LEAST_POINTS - 1], "cuda") == {}
