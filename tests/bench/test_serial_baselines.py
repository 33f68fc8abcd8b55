"""The loops in C that baselines are measured against: they compute what the baselines do."""

import pytest

from bench import serial_baselines
from bench.serial_baselines import compiler, pairs, programs


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
def test_that_the_loops_in_c_give_what_the_baselines_give(tmp_path, monkeypatch):
    monkeypatch.setattr(serial_baselines, "FILTERS", ((9, 14, 3, "uint8", 5, 3), (20, 7, 1, "float32", 4, 9)))
    monkeypatch.setattr(
        serial_baselines, "TWO_PASSES", ((9, 14, 3, "uint8", 5, 3), (20, 7, 1, "float32", 4, 9))
    )
    made = list(pairs(programs(compiler(), tmp_path)))
    assert len(made) > 10
    assert [pair.name for pair in made if not pair.agrees()] == []


def test_that_the_bench_says_where_there_is_no_compiler(monkeypatch, capsys):
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("sys.argv", ["serial_baselines"])
    assert serial_baselines.main() is None
    assert capsys.readouterr().out.count("\n") == 1
