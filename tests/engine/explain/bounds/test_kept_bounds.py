"""The claim of docs/bounds.md: bounds reach half of the time in most kept runs, and none is above it."""

import json
from pathlib import Path

import pytest

from engine.explain.bounds.explained import LEAST_SHARE
from engine.explain.limits.device_limits import MOST_SHARE

RESULTS = Path(__file__).parents[4] / "bench/results"
KEPT = {path.stem: path for path in sorted(RESULTS.glob("bounds-*.json"))}
CELLS = {"bounds-cpu": 60, "bounds-gpu": 150}
kept_files = pytest.mark.parametrize("name", KEPT)


def runs_of(name):
    """Return the runs of a file."""
    return json.loads(KEPT[name].read_text(encoding="utf-8"))["runs"]


@kept_files
def test_that_the_bounds_reach_half_of_the_time_in_four_of_five_cells(name):
    for run in runs_of(name):
        ratios = [one["ratio"] for one in run["cells"]]
        assert sum(LEAST_SHARE <= one <= 1 for one in ratios) >= 0.8 * len(ratios)


@kept_files
def test_that_no_bound_is_above_the_time(name):
    for run in runs_of(name):
        assert max(one["ratio"] for one in run["cells"]) <= MOST_SHARE


@kept_files
def test_that_every_cell_is_kept(name):
    for run in runs_of(name):
        assert len(run["cells"]) >= CELLS[name]


@kept_files
def test_that_the_kept_ratios_are_those_of_their_times(name):
    for run in runs_of(name):
        for one in run["cells"]:
            # Times are kept to 10 ns, ratios to three digits.
            assert one["ratio"] == pytest.approx(one["least_ms"] / one["ms"], abs=2e-3)
