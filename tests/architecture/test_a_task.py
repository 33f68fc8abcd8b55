"""A new task is one folder, one panel in it, and a line in each table: of tasks, of pages, of commands.

Pipeline, host, command line, window, tables and files find it by these. The folder is `scaling` beside this.
"""

import csv
import io
import json

import numpy as np
import pytest

from engine.commands import COMMANDS, Command
from engine.device.devices import backend
from engine.errors import Cancelled
from engine.geometry.block import UnsupportedVariant
from engine.host.client import EngineClient
from engine.host.request import Check, Run
from engine.results.columns import columns_of, problem_text, results_csv, results_document
from engine.results.metrics import Compared, compared
from engine.results.text_forms import json_text
from engine.run.measure import SamplingPlan, counted, measure, sweep
from engine.run.task import compute, device_for
from engine.tasks.read_results import results_from_document
from engine.tasks.registry import TASKS
from gui.page.contract import PageEntry
from gui.page.runs_page import save_runs
from gui.shell.pages import PAGES
from tests.architecture.scaling.problem import ListScalings, ScaleRequest, Scaling
from tests.architecture.scaling.task import KEYS, SCALE, toy_job
from tests.gui.conftest import light_again, open_window, rest_is_kept  # noqa: F401 - fixtures

PROBLEM = Scaling(5, 2.5)
QUICK = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=3, most=3)
PATIENCE_S = 60.0
ENTRY = PageEntry("scaling", "Scaling", "A toy.", "puzzle-outline", "tests.architecture.scaling.page")


@pytest.fixture
def registered(monkeypatch):
    """All that a new task has outside its folder: these three lines."""
    monkeypatch.setitem(TASKS, Scaling.task, SCALE)
    command = Command("scale numbers", "tests.architecture.scaling.command")
    monkeypatch.setitem(COMMANDS, "scale", command)
    PAGES.append(ENTRY)
    yield
    PAGES.remove(ENTRY)


def test_that_a_new_task_is_run_as_any_other():
    job = toy_job("in-one-go", PROBLEM, seed=7)
    assert device_for(job.variant, "cuda:3").key == "cpu"
    outcome = measure(job, backend("cpu"), QUICK)
    assert np.array_equal(outcome.values, np.float32(PROBLEM.factor) * job.operands)
    assert np.array_equal(outcome.values, compute(job, backend("cpu")))
    result = outcome.result
    assert (result.task, result.seed, result.work) == ("scaling", 7, job.variant.work(PROBLEM, job.block))
    assert result.status.startswith("verified: every number")
    assert len(result.timing.kernel.samples_ms) == 3
    wrong = measure(toy_job("wrong", PROBLEM), backend("cpu"), QUICK).result
    assert (wrong.status, wrong.kernel_ms) == ("not verified: a number is off", None)


def test_that_a_new_task_can_be_refused_and_stopped():
    refused = measure(toy_job("for-few", PROBLEM), backend("cpu"), QUICK)
    assert isinstance(refused.error, UnsupportedVariant)
    assert refused.result.refused

    def stop(step):
        if step.stage.startswith("verifying"):
            raise Cancelled("The request", "it was stopped")

    with pytest.raises(Cancelled):
        measure(toy_job("in-one-go", PROBLEM), backend("cpu"), QUICK, checkpoint=stop)


@pytest.mark.usefixtures("registered")
def test_that_a_sweep_of_a_new_task_comes_back_from_its_file():
    jobs = [toy_job(key, PROBLEM) for key in KEYS]
    seen = []
    results, fault = sweep(jobs, "cpu", 0.0, lambda result: seen.append(result.variant))
    assert fault is None
    assert seen == list(KEYS)
    assert [result.is_proven for result in results] == [True, False, False, False]
    assert "It is written for CUDA devices" in results[2].status
    assert counted(jobs[3], "cpu").refused
    runs = compared(results, "in-one-go")
    document = json.loads(json_text(results_document(runs, "in-one-go", {})))
    assert list(results_from_document(document)) == results
    rows = list(csv.DictReader(io.StringIO(results_csv(runs, "in-one-go"))))
    assert (rows[0]["task"], rows[0]["count"], rows[0]["verified"]) == ("scaling", "5", "yes")
    assert float(rows[0]["numbers_per_ms"]) == 5 / results[0].kernel_ms


def test_that_its_metrics_and_facts_stand_among_those_of_every_task():
    columns = {column.key: column for column in columns_of(Scaling, first=("variant", "factor"))}
    assert list(columns)[:2] == ["variant", "factor"]
    assert {"numbers_per_ms", "kernel_median_ms", "speed_up", "proof"} < columns.keys()
    result = measure(toy_job("in-one-go", PROBLEM), backend("cpu"), QUICK).result
    assert columns["factor"].text(Compared(result)) == "times 2.5"
    assert columns["numbers_per_ms"].value(Compared(result)) == 5 / result.kernel_ms


@pytest.mark.usefixtures("registered")
def test_that_the_command_line_knows_it(command, tmp_path):
    assert "Scalings (`python main.py scale`):\nin-one-go: Numbers grow.\n" in command("variants").out
    entries = command("variants --json").document["variants"]
    assert [entry["key"] for entry in entries if entry["task"] == "scaling"] == list(KEYS)
    answer = command("scale", "--count", 7, "--budget", 0, "--out", tmp_path / "r.json")
    header, row = answer.out.splitlines()
    assert header.split()[:3] == ["run", "factor", "variant"]
    assert "numbers per ms 1/ms" in header
    assert "times 2.0" in row
    (result,) = results_from_document(json.loads((tmp_path / "r.json").read_text()))
    assert result.problem == Scaling(7, 2.0)


@pytest.mark.usefixtures("registered")
def test_that_the_window_has_its_page(
    open_window,  # noqa: F811
    qtbot,
    tmp_path,
):
    haloscope = open_window()
    haloscope.window.show_page("scaling")
    page = haloscope.window.page_of("scaling")
    page.run()
    qtbot.waitUntil(lambda: len(page.model.rows()) == 2)
    assert [run.result.variant for run in page.model.rows()] == ["in-one-go", "wrong"]
    at = page.model.position("numbers_per_ms")
    rate = 5 / page.model.results()[0].kernel_ms
    assert page.model.index(0, at).data() == f"{rate:,.0f}"
    assert page.model.columns[0].key == "factor"
    services = page._services
    save_runs(tmp_path / "r.json", page.model, services.state, services.messages)
    read = results_from_document(json.loads((tmp_path / "r.json").read_text()))
    assert read == page.model.results()


@pytest.mark.slow
def test_that_a_host_answers_what_it_is_asked_of_a_new_task():
    client = EngineClient()
    client.start()
    try:
        described = client.submit(ListScalings()).result(PATIENCE_S)
        checked = client.submit(Check(ScaleRequest(PROBLEM))).result(PATIENCE_S)
        result = client.submit(Run(ScaleRequest(PROBLEM), 0.0)).result(PATIENCE_S)
    finally:
        client.shutdown()
    assert [info.key for info in described] == list(KEYS)
    reasons = {entry.variant: entry.reason for entry in checked}
    assert reasons["in-one-go"] is None
    assert reasons["for-few"].short == "There are more than 3 numbers"
    assert result.problem == PROBLEM
    assert result.is_proven
    assert problem_text(result) == "times 2.5"
