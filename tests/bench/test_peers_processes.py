import numpy as np
import pytest

from bench.peers.cells import Cell, pictures_of
from bench.peers.measure import Contender, Measurement, Plan, _over_auto
from bench.peers.pipe import Lost, Worker
from bench.peers.summary import Entry

MODULE = "tests.bench.tiny_library"
CELL = Cell(12, 9, 3)


@pytest.fixture(scope="module")
def measurement():
    ours = ("auto",)
    peers = ("correlate", "convolves", "refuses", "raises")
    workers = [
        (Entry("haloscope", "Ours", MODULE), Worker(MODULE, methods=ours)),
        (Entry("peer", "A peer", MODULE), Worker(MODULE, methods=peers)),
        (Entry("mortal", "Another", MODULE), Worker(MODULE, methods=("dies",))),
        (Entry("stranger", "Not built", MODULE), Worker(MODULE, methods=("absent",))),
        (Entry("nobody", "Not installed", "x"), Worker("no_such_library_here")),
    ]
    made = Measurement(workers, Plan(rounds=3, fewest=2, budget_s=60.0))
    made.open()
    yield made
    made.close()


@pytest.mark.slow
def test_that_only_a_right_result_has_a_time(measurement):
    found = measurement.cells([CELL])[CELL.key]["contenders"]
    for name in ("haloscope auto", "peer correlate"):
        assert found[name]["median_ms"] > 0
        assert found[name]["samples"] == 3
        assert found[name]["verified"] == "within the rounding bound, every pixel"
    reasons = {name: one["reason"] for name, one in found.items() if "median_ms" not in one}
    assert reasons.pop("peer convolves").startswith("not verified: row 0, column 0 is ")
    assert reasons.pop("mortal dies").startswith("failed: its process ended with status 7")
    assert reasons == {
        "peer refuses": "refused: it has no such mask",
        "peer raises": "failed: ValueError: a bad day",
    }


@pytest.mark.slow
def test_that_only_contenders_that_are_wanted_and_there_are_measured(measurement):
    assert measurement.absent == {
        "stranger": "not built for this machine",
        "nobody": "not installed (no_such_library_here)",
    }
    facts = {"title": "A peer", "versions": {"tiny": "1.0"}, "threads": 1, "notes": {}}
    assert measurement.facts["peer"] == facts
    found = measurement.cells([CELL], {"peer correlate"})[CELL.key]["contenders"]
    assert list(found) == ["peer correlate"]


@pytest.mark.slow
def test_that_a_process_that_ended_is_started_again(tmp_path):
    np.save(tmp_path / "pictures.npy", pictures_of(CELL))
    worker = Worker(MODULE, methods=("dies",))
    pictures = str(tmp_path / "pictures.npy")
    try:
        with pytest.raises(Lost, match="status 7"):
            worker.ask("prepare", cell=CELL.as_json(), method="dies", pictures=pictures, copies=1)
        assert worker.ask("methods", cell=CELL.as_json()) == {"ok": True, "methods": ["dies"]}
    finally:
        worker.end()


class Scripted(Worker):
    """Answers at once, and notes what it was asked."""

    def __init__(self, name, asked, ms=1.0):
        super().__init__(name)
        self._name, self._asked, self._ms = name, asked, ms

    def ask(self, do, *, timeout_s=0.0, **fields):
        self._asked.append(f"{self._name} {do}")
        return {"ok": True, "ms": self._ms, "runs": 1, "clock": "made up", "methods": ["filter"]}


def test_that_samples_are_taken_in_turn():
    asked: list[str] = []
    workers = [Scripted(name, asked) for name in "abc"]
    measurement = Measurement([], Plan(rounds=3, fewest=3, budget_s=60.0))
    contenders = [Contender(worker, Entry(worker._name, "", ""), "filter") for worker in workers]
    measurement._sample(contenders)
    assert asked == ["a sample", "b sample", "c sample"] * 3
    assert [one.samples_ms for one in contenders] == [[1.0] * 3] * 3
    measurement.close()


def test_that_a_run_that_would_take_too_long_is_left_out():
    asked: list[str] = []
    worker = Scripted("slow", asked)
    measurement = Measurement([(Entry("slow", "", ""), worker)], Plan(cap_s=2.0))
    measurement._fastest["slow filter", "float32"] = 3000.0 / CELL.multiply_adds
    (contender,) = measurement._ready((Entry("slow", "", ""), worker), CELL, MODULE, 1, None)  # type: ignore[arg-type]
    assert contender.reason == "left out: one run would take about 3 s"
    assert asked == ["slow methods"]
    measurement.close()


def test_that_a_ratio_is_formed_within_each_round():
    def sampled(key, method, *samples_ms):
        return Contender(Worker("x"), Entry(key, "", ""), method, samples_ms=list(samples_ms))

    # The machine is four times slower from the third round on; the slow peer has only the first three.
    auto = sampled("haloscope", "auto", 1.0, 1.0, 4.0, 4.0, 4.0)
    peer = sampled("peer", "filter", 2.0, 2.0, 8.0)
    assert _over_auto(peer, [auto, peer]) == {"over_auto": 2.0}
    auto.reason = "not verified"
    assert _over_auto(peer, [auto, peer]) == {}
