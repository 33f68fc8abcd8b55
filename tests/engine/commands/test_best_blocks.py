import pytest

import engine.commands.measuring as measuring
from engine.geometry.block_list import every_block
from engine.work.filtering.best_blocks import best_blocks_path, load_best_blocks
from tests.made_runs import ENVIRONMENT, make_result


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


def test_that_the_best_block_of_each_kernel_is_kept_for_the_device(command, timed):
    answer = command(BEST, "--blocks 8x8,16x16,32x8")
    assert answer.status == 0
    table = answer.out[answer.out.index("best block") :]
    assert "8 × 8 (0.100 ms), 20.2× as fast as its default" in table
    path = best_blocks_path()
    assert f"The best blocks are kept in {path}" in answer.err
    kept = [(one.device, one.variant, str(one.block)) for one in load_best_blocks(path)[0]]
    assert kept == [(ENVIRONMENT.device, key, "8 × 8") for key in ("tiled", "naive")]


def test_that_without_a_list_every_block_is_measured(command, timed, tmp_path):
    answer = command(BEST, "--json")
    assert answer.status == 0
    assert [result.block for result in timed[0][:66]] == list(every_block())
    assert [one["block"]["x"] * one["block"]["y"] for one in answer.document["best_blocks"]] == [64, 64]
    command("bench --variants naive --sizes 64 --masks 3 --blocks all --out", tmp_path / "r.json")
    assert len(timed[1]) == 66
    assert "best_blocks" not in (tmp_path / "r.json").read_text()


def test_that_a_file_that_cannot_be_used_is_only_a_note(command, timed):
    path = best_blocks_path()
    path.parent.mkdir(parents=True)
    path.write_text("hello")
    answer = command(BEST, "--blocks 8x8,16x16")
    assert answer.status == 0
    assert "note: The best measured blocks in" in answer.err
    assert load_best_blocks(path)[1] == ""
    path.unlink()
    path.mkdir()
    answer = command(BEST, "--blocks 8x8,16x16")
    assert answer.status == 0
    assert "cannot be written" in answer.err
    assert "8 × 8 (0.100 ms)" in answer.out


def test_that_it_is_said_why_there_is_no_best_block(command, refused, timed):
    assert "one block only. Name several" in command(BEST, "--blocks 8x8").out
    assert not best_blocks_path().exists()
    refused("bench --variants naive", says="no file for the results is named ... --best")
    refused("bench --best --blocks 8x", says="block '8x' ... Write it as 16x16.")
    refused("bench --best --blocks 0x8", says="--blocks 0 × 8 ... it has no threads")


@pytest.mark.slow
def test_that_simulated_runs_have_no_best_block(command):
    cells = "--variants naive --sizes 6 --masks 3 --blocks 4x4,2x4 --budget 0"
    simulated = command("bench --best", cells, "--device simulator")
    assert simulated.status == 0
    assert "No best block: the simulator's times mean nothing." in simulated.out
    assert not best_blocks_path().exists()
