import pytest

import engine.commands.measuring as measuring
from engine.geometry.block import every_block
from tests.made_runs import make_result


@pytest.fixture
def timed(monkeypatch):
    """Let every cell of a benchmark have a time: the best block is the one nearest to 64 threads."""
    sweeps = []

    def measured(jobs, device, budget_s, on_result, measure):
        results = []
        for job in jobs:
            kernel_ms = 0.1 + abs(job.block.threads - 64) / 100
            result = make_result(job.variant.key, kernel_ms, problem=job.problem, block=job.block)
            results.append(result)
            on_result(result)
        sweeps.append(results)
        return results, None

    monkeypatch.setattr(measuring, "sweep", measured)
    return sweeps


BEST = "bench --best --variants tiled,naive --sizes 64 --masks 3"


def test_that_the_best_block_of_each_kernel_is_said(command, timed):
    answer = command(BEST, "--blocks 8x8,16x16,32x8")
    assert answer.status == 0
    table = answer.out[answer.out.index("best block") :]
    assert "8 × 8 (0.100 ms), 20.2× as fast as its default" in table


def test_that_without_a_list_every_block_is_measured(command, timed, tmp_path):
    answer = command(BEST, "--json")
    assert answer.status == 0
    assert [result.block for result in timed[0][:66]] == list(every_block())
    assert [one["block"]["x"] * one["block"]["y"] for one in answer.document["best_blocks"]] == [64, 64]
    command("bench --variants naive --sizes 64 --masks 3 --blocks all --out", tmp_path / "r.json")
    assert len(timed[1]) == 66
    assert "best_blocks" not in (tmp_path / "r.json").read_text()


def test_that_it_is_said_why_there_is_no_best_block(command, refused, timed):
    assert "one block only. Name several" in command(BEST, "--blocks 8x8").out
    refused("bench --variants naive", says="no file for the results is named ... --best")
    refused("bench --best --blocks 8x", says="block '8x' ... Write it as 16x16.")
    refused("bench --best --blocks 0x8", says="--blocks 0 × 8 ... it has no threads")


@pytest.mark.slow
def test_that_simulated_runs_have_no_best_block(command):
    cells = "--variants naive --sizes 6 --masks 3 --blocks 4x4,2x4 --budget 0"
    simulated = command("bench --best", cells, "--device simulator")
    assert simulated.status == 0
    assert "No best block: the simulator's times mean nothing." in simulated.out
