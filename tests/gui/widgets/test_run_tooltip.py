"""What the tooltip of a run says: its numbers can be checked by whoever reads them."""

import re

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.mask.presets import preset
from engine.results.metrics import Compared
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from gui.runs.bars import run_tooltip
from tests.made_runs import make_result


def test_that_the_numbers_of_the_model_add_up_as_they_are_shown():
    for key in ["naive", "tiled", "separable-l1", "cpu-serial"]:
        known, mask = variant(key), preset("gaussian-5")
        problem = describe_problem(np.zeros((120, 160, 3), np.uint8), mask, Border.ZERO, 0.0)
        result = make_result(key, 2.0, problem=problem, work=known.work(problem, known.default_block))
        cells = re.findall(r"<td>([^<]*)</td><td align='right'>([^<]*)</td>", run_tooltip(Compared(result)))
        shown = {}
        for title, words in cells:
            if number := re.match(r"[\d,]+(\.\d+)?", words):
                shown[title.replace("&nbsp;", "")] = float(number[0].replace(",", ""))
        moved = shown["global loads in bytes"] + shown["global stores in bytes"]
        # Each is shown with four digits.
        operations = pytest.approx(shown["operations"], rel=1e-3)
        assert shown["operations per byte (arithmetic intensity)"] * moved == operations
        assert shown["operations per global load (CGMA)"] * shown["global loads"] == operations
        assert shown["minimum traffic, bytes"] <= moved
