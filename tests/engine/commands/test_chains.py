"""`filter --chain`, `batch --chain` and `chains`: what is saved, said and refused."""

import csv
import json

import numpy as np
import pytest

import engine
from engine.image.open import open_sample
from engine.tasks import read_results

PHOTO = open_sample("astronaut").pixels[100:150, 180:240]


@pytest.fixture
def photo(tmp_path):
    """A small colour photograph."""
    path = tmp_path / "photo.png"
    engine.save_image(PHOTO, path)
    return path


def test_that_filter_saves_what_a_chain_makes_with_times_of_its_steps(command, photo, tmp_path):
    out = tmp_path / "out.png"
    answer = command("filter", photo, out, "--chain sobel-magnitude --json")
    document = answer.document
    assert [step["id"] for step in document["step_times"]] == ["x", "y", "edges"]
    assert all(step["kernel_ms"] > 0 for step in document["step_times"])
    assert document["result"]["problem"]["chain"] == "Sobel magnitude"
    assert document["verified"]
    wanted = engine.chain(PHOTO, "sobel-magnitude", device="cpu", budget_s=0.0).picture
    assert np.array_equal(engine.open_image(out).pixels, wanted)


def test_that_a_chain_is_written_edited_and_used_for_a_folder(command, photo, tmp_path):
    mine = tmp_path / "mine.json"
    assert "2 steps" in command("chains unsharp --out", mine).out
    document = json.loads(mine.read_text())
    document["steps"][1]["weight"] = -2
    mine.write_text(json.dumps(document))
    answer = command("batch", photo, "--out", tmp_path / "sharp", "--chain", mine)
    assert "1 of 1 picture computed (Unsharp masking)" in answer.out
    chain = engine.chain(PHOTO, str(mine), device="cpu", budget_s=0.0)
    assert np.array_equal(engine.open_image(tmp_path / "sharp" / "photo.png").pixels, chain.picture)


def test_that_bench_measures_a_chain_and_each_of_its_steps(command, refused, tmp_path):
    out, table = tmp_path / "runs.json", tmp_path / "runs.csv"
    options = "--chain unsharp --sizes 40x30,9 --channels 3 --dtype uint8 --budget 0 --variants cpu-chain"
    answer = command("bench", "--out", out, "--csv", table, options)
    runs = read_results.results_in_file(str(out))
    assert [run.problem.size_text for run in runs] == ["40 × 30 RGB", "9 × 9 RGB"]
    assert all(run.is_proven and run.kernel_ms for run in runs)
    assert [[step.id for step in run.steps] for run in runs] == [["blur", "sharp"]] * 2
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [float(row["step_blur_ms"]) for row in rows] == [run.steps[0].ms for run in runs]
    assert all(run.steps_text in answer.out for run in runs)
    assert json.loads(out.read_text())["request"]["chain"]["steps"][1]["combine"] == "blend"

    def check(given, says):
        refused("bench", "--out", out, given, says=says)

    check("--chain unsharp --masks 3", "--masks with --chain: the chain has steps of its own")
    check("--chain unsharp --blocks 8x8", "--blocks with --chain")
    check("--chain unsharp --variants tiled", "no variant of chains: each step names its own")
    check("--chain none", "chain 'none'")


@pytest.mark.slow
def test_that_bench_measures_a_chain_in_the_simulator_without_times(command, tmp_path):
    out = tmp_path / "runs.json"
    command("bench", "--out", out, "--chain unsharp --sizes 6 --budget 0 --device simulator")
    here, simulated = read_results.results_in_file(str(out))
    assert simulated.variant == "cuda-chain"
    assert simulated.is_proven
    assert [step.ms for step in simulated.steps] == [None, None]
    assert here.kernel_ms


def test_that_merging_is_said(command, photo, tmp_path):
    mine = tmp_path / "mine.json"
    steps = [{"mask": "1 2 1"}, {"mask": "3"}]
    mine.write_text(json.dumps({"format": "haloscope-chain", "version": 1, "steps": steps}))
    answer = command("filter", photo, tmp_path / "out.png", "--merge --chain", mine)
    assert "Merged: s1, s2 as one mask of 1 × 3" in answer.err
    none = command("filter", photo, tmp_path / "out.png", "--merge --chain sobel-magnitude")
    assert "--merge changed nothing" in none.err


def test_that_ready_chains_are_listed(command):
    entries = command("chains --json").document["chains"]
    assert len(entries) >= 10
    assert {"key", "title", "about", "steps"} < entries[0].keys()
    assert "unsharp" in command("chains").out
    assert "edges = magnitude of x and y" in command("chains sobel-magnitude").out


def test_that_what_a_chain_cannot_take_is_refused(refused, photo, tmp_path):
    out = tmp_path / "out.png"

    def check(options, says):
        refused("filter", photo, out, options, says=says)

    check("--chain unsharp --mask box-3", "--mask with --chain: a chain has steps of its own")
    check("--chain unsharp --operation median", "--operation with --chain")
    check("--chain unsharp --border mirror", "--border with --chain: each step of a chain has its own")
    check("--chain unsharp --variant naive", "--variant with --chain")
    check("--mask box-3 --merge", "--merge: it is for --chain")
    check("--chain none", "chain 'none': there is no ready chain of that name and no such file")
    bad = tmp_path / "bad.json"
    bad.write_text('{"format": "haloscope-chain", "version": 1, "steps": [{"mask": 3}]}')
    check(f"--chain {bad}", "bad.json ... step 1, 'mask'")
    refused("chains", "--out", tmp_path / "x.json", says="--out without a chain")
