"""Ways to share a launch among threads, side by side: which rounds count, and what their ratios are of."""

from typing import Any

import pytest

from bench import threads

CASE = {"variant": "cpu-parallel", "dtype": "float32", "side": 512, "mask": 3, "cores": 2, "busy": 0}


class Way:
    """A way's process that answers with made-up times."""

    def __init__(self, digest, times):
        self._digest, self._times = digest, iter(times)
        self._asked = ""

    def send(self, what):
        self._asked = what[0]

    def recv(self):
        if self._asked == "case":
            return self._digest
        time = next(self._times)
        return {"woken": 3 * time, "samples": [time, time, 9 * time], "idle_cpu": 0.001, "cpu": 0.0}


@pytest.fixture(autouse=True)
def others(monkeypatch):
    """Have other processes work in the second and the fourth round."""

    def busy():
        yield from (0, 0.0, 0, 1000.0, 0, 0.0, 0, 1000.0)

    moments = busy()
    monkeypatch.setattr(threads, "_busy_s", lambda: next(moments))


def test_that_ratios_are_of_turns_of_one_round_and_the_quieter_rounds_count():
    ways: Any = {"ours": Way("a", [1.0, 7.0, 4.0, 7.0]), "pool": Way("a", [2.0, 700.0, 12.0, 700.0])}
    measured = threads._measured(ways, CASE, 4)
    pool = measured["ways"]["pool"]
    assert (pool["ratio"], pool["woken_ratio"]) == (2.5, 2.5)
    assert pool["samples"] == 6
    table = threads._table([CASE | measured])
    assert "| 2.50 (2.20-2.80) w 2.50 |" in table
    assert "pool        0 of 1, the worst 2.50" in table


def test_that_ways_with_other_results_are_not_compared():
    ways: Any = {"ours": Way("a", []), "pool": Way("b", [])}
    with pytest.raises(SystemExit, match="differ"):
        threads._measured(ways, CASE, 4)
