import json

from bench import cost_grid
from bench.auto import Cell, line_of
from bench.auto_grid import is_too_long, mask_of
from bench.cost_grid import as_text
from bench.spreads import spread_summary, summarised
from engine.mask.factors import factor
from engine.results.measurement import Spread
from engine.tasks.filtering.problem import Problem
from engine.variants.box.box_mask import is_box
from engine.variants.registry import variant
from tests.made_runs import make_failure, make_result


def test_that_a_table_of_times_comes_back_with_a_row_a_line_and_the_shorter_of_two_times():
    table = {
        "cpu": {"from": 'a "quoted" [word]', "times_us": {"tiled": {"uint8 x 1": [[1.5, None], [3, 4]]}}}
    }
    text = as_text(table)
    assert json.loads(text) == table
    assert "[1.5, null],\n" in text
    known = {"float32 x 1": [[3.0, None], [1.0, 2.0]]}
    found = {"float32 x 1": [[2.0, 5.0], [4.0, None]], "uint8 x 1": [[7.0, None]]}
    kept = {"float32 x 1": [[2.0, 5.0], [1.0, 2.0]], "uint8 x 1": [[7.0, None]]}
    assert cost_grid._shorter(found, known) == kept
    assert cost_grid._shorter(found, None) == found


def test_that_the_ratio_is_that_to_the_best():
    cell = Cell("9 x 9", "tiled", {"tiled": 3.0, "box": 2.0})
    assert (cell.best, cell.ratio) == ("box", 1.5)
    assert line_of(cell).split()[0] == "1.50"


def test_that_masks_are_of_their_structure_and_only_what_holds_everything_up_is_left_out():
    for side in (3, 15, 31):
        assert factor(mask_of("gaussian", side)).separable
        assert factor(mask_of("sobel", side)).separable
        assert not factor(mask_of("random", side)).separable
        assert [is_box(mask_of(kind, side)) for kind in ("box", "gaussian")] == [True, False]
    problem = Problem(4096, 4096, 3, mask_shape=(63, 63), anchor=(31, 31))
    assert is_too_long(variant("cpu-parallel"), problem)
    assert not is_too_long(variant("cpu-box"), problem)
    assert not is_too_long(variant("cpu-separable"), problem)


def test_that_a_summary_says_how_many_samples_there_were_and_keeps_none():
    assert spread_summary(Spread((4.0, 1.0, 2.0, 3.0, 10.0, 6.0))) == {
        "median_ms": 3.5, "p20_ms": 2.0, "p80_ms": 6.0, "minimum_ms": 1.0, "samples": 6,
    }  # fmt: skip


def test_that_only_the_samples_of_a_result_are_left_out_and_a_failure_has_no_times():
    result = make_result("tiled", 1 / 3)
    whole, kept = result.as_json(), summarised(result)
    assert kept["timing"]["kernel"] == spread_summary(result.timing.kernel)
    assert "samples_ms" not in str(kept)
    assert kept["timing"]["compile_ms"] == result.timing.compile_ms
    del whole["timing"], kept["timing"]
    assert whole == kept
    assert summarised(make_failure())["timing"] is None
