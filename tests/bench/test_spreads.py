from bench.spreads import spread_summary, summarised
from engine.results.measurement import Spread
from tests.made_runs import make_failure, make_result


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
