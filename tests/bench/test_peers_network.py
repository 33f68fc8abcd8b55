"""The network beside torch: verified first, samples in turn, wrong scores are told; torch may be absent."""

import json
import sys

import pytest

from bench.peers import network
from engine.variants.registry import network_variant

FAKE = """
import json, sys
import numpy as np
for line in sys.stdin:
    request = json.loads(line)
    answer = {"torch": "fake", "ways": ["eager"], "ms": 2.0}
    if request["what"] == "batch":
        np.save(request["scores"], np.zeros((len(np.load(request["drawings"])), 10), np.float32))
    print(json.dumps(answer), flush=True)
"""


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["network", "--device", "cpu", "--rounds", "2", *arguments])
    return network.main()


@pytest.mark.slow
def test_that_ours_is_verified_and_timed_without_torch(monkeypatch, tmp_path, capsys):
    path = tmp_path / "run.json"
    assert run(monkeypatch, "--batches", "1,2", "--without-torch", "--json", str(path)) == 0
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert [(cell["batch"], cell["stage"]) for cell in cells] == [(1, "network-cpu"), (2, "network-cpu")]
    assert all(len(cell["results"]["network-cpu"]["samples_ms"]) == 2 for cell in cells)
    assert "network-cpu" in capsys.readouterr().out


@pytest.mark.slow
def test_that_wrong_scores_of_a_peer_are_told_and_fail(monkeypatch, tmp_path, capsys):
    script = tmp_path / "fake.py"
    script.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(network, "TORCH", script)
    assert run(monkeypatch, "--batches", "1") == 4
    assert "torch eager      median 2.0000 ms" in (out := capsys.readouterr().out)
    assert "not verified: drawing 0" in out


@pytest.mark.slow
def test_that_ours_is_held_to_its_own_bound_and_torch_to_that_of_any_order(monkeypatch, tmp_path):
    script, found = tmp_path / "fake.py", []
    script.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(network, "TORCH", script)
    verify = network.verify

    def noted(*given, **how):
        found.append(how)
        return verify(*given, **how)

    monkeypatch.setattr(network, "verify", noted)
    run(monkeypatch, "--batches", "1")
    assert found == [{"roundings": network_variant("network-cpu").roundings}, {}]


def test_that_a_torch_that_is_not_there_is_told(monkeypatch, tmp_path, capsys):
    script = tmp_path / "none.py"
    script.write_text("raise SystemExit(1)", encoding="utf-8")
    monkeypatch.setattr(network, "TORCH", script)
    assert run(monkeypatch, "--batches", "1") == 0
    assert "its process ended" in capsys.readouterr().out


def test_that_a_cell_is_told_in_words():
    results = {
        "network-cpu": {"median_ms": 1.0, "minimum_ms": 0.9, "verified": True},
        "torch eager": {"median_ms": 4.0, "minimum_ms": 3.9, "verified": True},
    }
    lines = network.lines_of({"batch": 3, "stage": "network-cpu", "results": results})
    assert lines[2].endswith("ours takes 0.25 times as long; verified")
