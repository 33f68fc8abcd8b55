"""`explain`: a launch without a run and without a GPU, as text and as JSON; what is refused."""

import csv
import json
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from engine.commands import explain
from engine.errors import DeviceUnavailable, Reason
from engine.explain import why
from engine.results.measurement import Bound, ExplainedTime
from tests.engine.variants.emitted import needs_nvvm

TILED = "explain 1920x1080 --mask box:3 --variant tiled --block 16x16 --dtype float32 --arch sm_86"


@pytest.mark.slow
@needs_nvvm
def test_that_registers_occupancy_and_what_limits_it_are_said_for_a_gpu_that_is_not_here(command):
    answer = command(TILED + " --json")
    document = answer.document
    assert (answer.status, document["format"], document["variant"]) == (0, "haloscope-explain", "tiled")
    assert list(document)[-4:] == ["time", "launch", "accesses", "metrics"]
    launch, metrics = document["launch"], document["metrics"]
    (only,) = launch["launches"]
    assert (launch["architecture"], launch["not_compiled"]) == ("sm_86", None)
    assert (only["grid"], only["block"], only["shared_bytes"]) == ([120, 68, 1], [16, 16, 1], 4 * 18 * 18)
    assert only["resident_blocks"] == min(only["limits"].values())
    assert only["occupancy"] == only["resident_warps"] / only["most_warps"] == metrics["occupancy"]
    assert metrics["registers_per_thread"] == only["registers"]
    assert {point["at"] for point in only["curves"]["threads"]} >= {32, 256, 1024}
    assert not [key for key in metrics if key.endswith("_ms")]
    text = command(TILED).out
    assert text.startswith("tiled, block 16 × 16, on sm_86 (GeForce RTX 3090): 1920 × 1080 grey float32")
    for words in ("120 × 68, 8,160 blocks", f"  {only['registers']}\n", "1.27 cells per result"):
        assert words in text
    out = command("explain 100x90 --mask box:3 --variant separable-l1 --block 16x16 --dtype float32").out
    assert "launch 1" in out
    assert "launch 2" in out


@pytest.mark.slow
def test_that_what_warps_ask_of_memory_is_said(command):
    arguments = "explain 512x512 --mask 1 --block 32x8 --dtype float32 --variant"
    one, other = (command(f"{arguments} {key} --json").document for key in ("naive", "naive-uncoalesced"))
    found = [
        [array["sectors"] / array["requests"] for array in document["accesses"]["launches"][0]["arrays"]]
        for document in (one, other)
    ]
    # The picture, the mask's one weight, the result.
    assert found == [[4, 1, 4], [32, 1, 32]]
    out = command(f"{arguments} naive-uncoalesced").out
    assert "  global stores: transactions of 128 bytes per request  32\n" in out


def test_that_a_picture_gives_its_size_and_type_and_a_cpu_variant_has_no_launch(command, tmp_path):
    Image.fromarray(np.zeros((30, 40, 3), np.uint8)).save(tmp_path / "p.png")
    answer = command(f"explain {tmp_path / 'p.png'} --mask box:3 --variant cpu-parallel")
    assert answer.status == 0
    assert answer.out.startswith("cpu-parallel: 40 × 30 RGB uint8, mask Box 3 × 3, border zero\n")
    document = command("explain 64x48 --mask box:3 --variant cpu-parallel --json").document
    assert not {"launch", "ablation"} & document.keys()
    assert document["metrics"]["model_minimum_bytes"] == 64 * 48 * 5


def test_that_what_cannot_be_explained_is_refused_in_words(refused):
    for arguments, words in [
        ("64x48 --mask box:3 --variant auto", "a kernel is explained by its name"),
        ("64x48 --mask box:3 --variant tild", "Did you mean tiled?"),
        ("64x48 --mask box:3 --variant tiled --arch sm_60", "Choose one of sm_75"),
        ("64x48 --mask box:3 --variant tiled --block 64x64", "The nearest legal block is 64 × 16."),
        ("0x48 --mask box:3 --variant tiled", "it is neither a side from 1"),
        ("missing.png --mask box:3 --variant tiled", "there is no such file"),
        ("missing.png --mask box:3 --variant tiled --channels 3", "a file has its own"),
        ("64x48 --variant tiled", "--mask"),
        ("64x48 --mask 1,2;3,5 --variant separable-l0 --arch sm_75", "variant 'separable-l0' on sm_75"),
        ("64x48 --mask box:3 --variant tiled --device cuda:0", "--device without --ablate"),
    ]:
        refused(f"explain {arguments}", says=words)


@pytest.mark.slow
@needs_nvvm
def test_that_an_ablation_without_a_gpu_has_executed_instructions(command, monkeypatch):
    absent = DeviceUnavailable("a GPU", "there is none here")
    monkeypatch.setattr(explain, "device_for", Mock(side_effect=absent))
    arguments = "explain 64x48 --mask gaussian:5 --border constant --variant naive --dtype float32 --ablate"
    document = command(f"{arguments} --json").document["ablation"]
    assert (document["device"], document["unit"]) == (None, "executed instructions per tap, by PTX")
    assert document["saves"]["border-test"] > 0
    assert "Ablation: what each cost takes\n  whole kernel" in command(arguments).out


@pytest.mark.slow
def test_that_an_ablation_in_the_simulator_is_the_estimate_without_a_gpu(command):
    arguments = "explain 9x9 --mask box:3 --variant tiled --block 16x16 --dtype float32 --ablate --json"
    simulated = command(f"{arguments} --device simulator").document["ablation"]
    assert simulated == command(arguments).document["ablation"]
    assert all(one["instructions_per_tap"] and not one["kernel"] for one in simulated["altered"])


BENCH = "bench --sizes 8 --masks 3 --budget 0 --variants"


@pytest.fixture
def asked(monkeypatch):
    """Answer with a reason that names the variant; return what was asked."""
    found = []

    def explained_time(job, device, measured_ms):
        found.append((job.variant.key, device.key, measured_ms))
        bounds = (Bound("copy", "copy", measured_ms / 4, 1.0, "bytes", 1.0, "the problem"),)
        sentence = f"Copies bound {job.variant.key}."
        return ExplainedTime("CPU", bounds, measured_ms / 4, measured_ms, sentence, "", 1.5)

    monkeypatch.setattr(why, "explained_time", explained_time)
    return found


def test_that_bench_says_why_each_run_takes_its_time_and_writes_it_with_the_run(command, asked, tmp_path):
    files = ("--out", tmp_path / "r.json", "--csv", tmp_path / "r.csv")
    answer = command(BENCH, "cpu-serial,cpu-parallel --explain", *files)
    reasons = ["Copies bound cpu-serial.", "Copies bound cpu-parallel."]
    assert answer.out.splitlines()[-2:] == [f"run {n}: {reason}" for n, reason in enumerate(reasons, 1)]
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert [result["explained"]["sentence"] for result in results] == reasons
    assert asked == [(result["variant"], "cpu", result["kernel_median_ms"]) for result in results]
    row, _ = csv.DictReader((tmp_path / "r.csv").read_text().splitlines())
    assert (row["share_of_tallest_limit"], row["transactions_per_request"]) == ("0.25", "1.5")


def test_that_bench_explains_nothing_unless_it_is_asked_and_no_operations(command, refused, asked, tmp_path):
    answer = command(BENCH, "cpu-serial --json --out", tmp_path / "r.json")
    assert answer.document["results"][0]["explained"] is None
    assert not asked
    operation = "bench --operation median --explain --out", tmp_path / "r.json"
    refused(*operation, says="--explain with --operation")


def test_that_filter_says_why_it_takes_its_time(command, asked, tmp_path):
    given = ("filter assets/samples/impulse.png", tmp_path / "o.png", "--mask box-3 --explain")
    assert command(*given).out.splitlines()[-1] == f"Copies bound {asked[0][0]}."
    assert command(*given, "--json").document["result"]["explained"]["transactions_per_request"] == 1.5


def test_that_what_is_not_explained_is_said_with_its_reason(command, monkeypatch, tmp_path):
    not_known = Reason("no-kernel", "It has no kernels of ours")
    monkeypatch.setattr(why, "explained_time", lambda *given: ExplainedTime("CPU", not_explained=not_known))
    answer = command(BENCH, "cpu-serial --explain --out", tmp_path / "r.json")
    assert answer.out.splitlines()[-1] == "run 1: It has no kernels of ours."
