"""`--explain` of `bench` and `filter`: the reason for each time, in words, JSON and CSV."""

import csv
import json

import pytest

from engine.errors import Reason
from engine.explain import why
from engine.results.measurement import Bound, ExplainedTime

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


def test_that_bench_explains_nothing_unless_it_is_asked(command, asked, tmp_path):
    answer = command(BENCH, "cpu-serial --json --out", tmp_path / "r.json")
    assert answer.document["results"][0]["explained"] is None
    assert not asked


def test_that_bench_refuses_to_explain_operations(command, tmp_path):
    answer = command("bench --operation median --explain --out", tmp_path / "r.json")
    assert answer.status == 2
    assert "--explain with --operation" in answer.err


def test_that_filter_says_why_it_takes_its_time(command, asked, tmp_path):
    given = ("filter assets/samples/impulse.png", tmp_path / "o.png", "--mask box-3 --explain")
    assert command(*given).out.splitlines()[-1] == f"Copies bound {asked[0][0]}."
    assert command(*given, "--json").document["result"]["explained"]["transactions_per_request"] == 1.5


def test_that_what_is_not_explained_is_said_with_its_reason(command, monkeypatch, tmp_path):
    not_known = Reason("no-kernel", "It has no kernels of ours")
    monkeypatch.setattr(why, "explained_time", lambda *given: ExplainedTime("CPU", not_explained=not_known))
    answer = command(BENCH, "cpu-serial --explain --out", tmp_path / "r.json")
    assert answer.out.splitlines()[-1] == "run 1: It has no kernels of ours."
