"""`bench --scheduler`: every machine measures every cell, and runs are compared within one machine."""

import csv
import io
import json
import os

import distributed
import pytest

from engine.cluster import machines
from engine.cluster.address import SchedulerAddress
from engine.commands import benchmark, command_line
from engine.commands.arguments import read
from engine.results.compare import compared
from engine.run.sweep import measured_result
from tests.engine.cluster import faulty_calls
from tests.engine.cluster.started import two_workers

CELLS = "--sizes 32 --masks 3,5 --variants cpu-serial,cpu-parallel --budget 0.01"

pytestmark = pytest.mark.slow


@pytest.fixture
def client():
    """Return a client of a cluster of two workers."""
    with two_workers() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def bench(command, client, tmp_path):
    """Return a function that measures the cells on the cluster and returns the answer, JSON and CSV."""

    def do(*arguments, status=0):
        out, table = tmp_path / "r.json", tmp_path / "r.csv"
        scheduler = client.scheduler.address
        answer = command("bench --scheduler", scheduler, CELLS, "--out", out, "--csv", table, *arguments)
        assert answer.status == status, answer
        return answer, json.loads(out.read_text()), list(csv.DictReader(io.StringIO(table.read_text())))

    return do


def test_that_each_machine_measures_each_cell(bench, client):
    client.run(faulty_calls.rename_machines)
    answer, document, rows = bench()
    cells = [
        (run["environment"]["machine"], run["variant"], run["problem"]["mask_shape"])
        for run in document["results"]
    ]
    assert len(cells) == len({str(cell) for cell in cells}) == 2 * 4
    assert {machine["name"] for machine in document["machines"]} == {"machine-0", "machine-1"}
    assert all(machine["versions"] and machine["devices"] for machine in document["machines"])
    assert [row["machine"] for row in rows] == [machine for machine, *_ in cells]
    assert "[8/8] machine-" in answer.err
    assert "machine-0" in answer.out


def test_that_runs_are_compared_with_those_of_their_machine(bench, client):
    client.run(faulty_calls.rename_machines)
    _, document, _ = bench()
    runs = {run["run"]: run for run in document["results"]}
    assert all(
        runs[run["baseline_run"]]["environment"]["machine"] == run["environment"]["machine"]
        for run in runs.values()
    )


def test_that_of_two_workers_of_a_machine_one_measures(bench):
    _, document, _ = bench()
    assert len(document["results"]) == 4
    assert len(document["machines"]) == 1


def test_that_results_of_one_machine_have_no_column_for_it(command, tmp_path):
    answer = command("bench", CELLS, "--out", tmp_path / "r.json", "--csv", tmp_path / "r.csv")
    assert "machine" not in answer.out
    assert "machine" not in (tmp_path / "r.csv").read_text().splitlines()[0].split(",")


def test_that_what_was_measured_is_written_when_the_scheduler_is_lost(bench, monkeypatch):
    monkeypatch.setattr(command_line, "leave_at_once", lambda status: None)
    measured, cells = machines.Machines._measured, []

    def lost_after_two(self, *given):
        cells.append(given)
        if len(cells) > 2:
            raise self._cluster.lost()
        return measured(self, *given)

    monkeypatch.setattr(machines.Machines, "_measured", lost_after_two)
    answer, document, rows = bench(status=3)
    assert len(document["results"]) == len(rows) == 2
    assert "was lost" in answer.err


def kill_this_worker(job, device, plan):
    """In place of a measurement, of one variant."""
    if job.variant.key == "cpu-serial" and distributed.get_worker().name == 0:
        os.kill(os.getpid(), 9)
    return measured_result(job, device, plan)


def test_that_a_cell_whose_worker_ends_is_a_result_with_its_reason(client):
    settings = read("bench", benchmark.BenchSettings, [*CELLS.split(), "--out", "r.json"])
    client.run(faulty_calls.rename_machines)
    with machines.machines_of(SchedulerAddress(client.scheduler.address)) as found:
        results, fault = found.sweep(
            benchmark.filter_cells(settings).jobs, "auto", 0.01, measure=kill_this_worker
        )
    assert fault is None
    lost = [run for run in results if run.failure]
    assert lost
    assert all("was lost" in run.status for run in lost)
    assert len(results) == 8
    assert all(run.speed_up is None for run in compared(results, "cpu-serial") if run.result in lost)


def test_that_the_best_blocks_of_other_machines_are_not_kept_for_this_one(command, tmp_path):
    answer = command("bench --scheduler local:1 --best --out", tmp_path / "r.json")
    assert (answer.status, "--best with --scheduler" in answer.err) == (2, True)
