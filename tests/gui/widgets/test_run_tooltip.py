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
        work = known.work(problem, known.default_block)
        result = make_result(key, 2.0, problem=problem, work=work)
        cells = re.findall(r"<td>([^<]*)</td><td align='right'>([^<]*)</td>", run_tooltip(Compared(result)))
        shown = {}
        for title, words in cells:
            if number := re.match(r"[\d,]+(\.\d+)?", words):
                shown[title.replace("&nbsp;", "")] = float(number[0].replace(",", ""))
        operations, loads = shown["operations"], shown["global loads"]
        moved = shown["global loads in bytes"] + shown["global stores in bytes"]
        # Each is shown with four digits.
        assert shown["operations per byte (arithmetic intensity)"] * moved == pytest.approx(
            operations, rel=1e-3
        )
        assert shown["operations per global load (CGMA)"] * loads == pytest.approx(operations, rel=1e-3)
        assert shown["image loads (included above)"] <= loads
        assert shown["minimum traffic, bytes"] <= moved
