"""A new metric is one entry: everything that shows numbers of runs finds it by itself."""

import csv
import json
import os
import re
import subprocess
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from engine.commands.command_line import main
from engine.results import metrics
from engine.results.metrics import Metric, compared
from gui.engine_link.engine_state import EngineState
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.results_panel import ResultsPanel
from gui.matrices.product import MatmulState
from gui.page.messages import Messages
from gui.page.runs_page import save_runs
from gui.runs.bars import run_tooltip
from tests.fresh_python import ROOT
from tests.gui.made_results import make_engine_state, make_workspace
from tests.gui.made_window import all_actions
from tests.made_runs import made_product, made_rows, make_result

TOY = Metric(
    "toy_rate",
    "toy rate",
    "toys/s",
    "How many toys the run makes per second.",
    lambda run: 1000.0 / run.result.kernel_ms if run.result.kernel_ms else None,
    lambda value: f"{value:.1f}",
)


@pytest.fixture(autouse=True)
def _with_toy(monkeypatch):
    monkeypatch.setattr(metrics, "METRICS", (*metrics.METRICS, TOY))


def test_that_the_command_line_tells_it(tmp_path, capsys):
    out, table = tmp_path / "r.json", tmp_path / "r.csv"
    cells = ["--variants", "cpu-serial", "--sizes", "8", "--masks", "3", "--budget", "0"]
    assert main(["bench", *cells, "--out", str(out), "--csv", str(table)]) == 0
    document = json.loads(out.read_text())
    assert document["metrics"]["toy_rate"] == {
        "title": "toy rate", "unit": "toys/s", "explanation": TOY.explanation,
    }  # fmt: skip
    (result,) = document["results"]
    assert result["toy_rate"] == 1000.0 / result["kernel_median_ms"]
    (row,) = csv.DictReader(table.read_text().splitlines())
    assert float(row["toy_rate"]) == result["toy_rate"]
    header, line = capsys.readouterr().out.splitlines()
    assert "toy rate toys/s" in header
    assert f"{result['toy_rate']:.1f}" in line
    assert main(["matmul", "--size", "8", "--variants", "numpy", "--budget", "0"]) == 0
    assert "toy rate toys/s" in capsys.readouterr().out


def test_that_the_window_shows_it_wherever_it_shows_metrics(qtbot):
    model = ResultsModel()
    panel = ResultsPanel(model, make_workspace(), make_engine_state())
    model.setParent(panel)
    qtbot.addWidget(panel)
    model.add(make_result("tiled", 0.5))
    state = MatmulState()
    state.set_listed(tuple(made_product(row) for row in made_rows(state.settings.product, (8,), cuda=True)))
    for runs, text in ((model, "2000.0"), (state, "500.0")):
        at = runs.position("toy_rate")
        assert runs.headerData(at, Qt.Orientation.Horizontal) == "Toy rate, toys/s"
        assert runs.headerData(at, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) == TOY.explanation
        assert runs.index(0, at).data() == text
        assert f"{text} toys/s" in runs.index(0, at).data(Qt.ItemDataRole.ToolTipRole)
        assert f"{text} toys/s" in run_tooltip(runs.rows()[0])
    assert not panel.table.isColumnHidden(model.position("toy_rate"))
    menu = QMenu(panel)
    panel.table.fill_column_menu(menu)
    assert "Toy rate, toys/s" in [action.text() for action in all_actions(menu)]


def test_that_it_can_be_the_bars_of_the_runs(qtbot):
    model = ResultsModel()
    panel = ResultsPanel(model, make_workspace(), make_engine_state())
    model.setParent(panel)
    qtbot.addWidget(panel)
    for variant, kernel_ms in (("naive", 2.0), ("tiled", 0.5)):
        model.add(make_result(variant, kernel_ms))
    panel.fill_menu()
    action = next(action for action in all_actions(panel.menu) if "Toy" in action.text())
    action.trigger()
    assert [model.words(run).split(",")[0] for run in model.rows()] == [
        "naive 16 × 16: 500.0 toys/s",
        "tiled 16 × 16: 2000.0 toys/s",
    ]
    assert model.bar_column == model.position("toy_rate")


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_that_the_window_writes_of_a_run_what_the_command_line_writes(qapp, tmp_path, suffix):
    from engine.results.columns import machine_document, results_csv, results_document
    from engine.results.text_forms import json_text

    results = [make_result("cpu-serial", 20.0), make_result("tiled", 0.5)]
    model, path = ResultsModel(), tmp_path / f"window.{suffix}"
    for result in results:
        model.add(result)
    save_runs(path, model, EngineState(), Messages())
    runs = compared(results, "cpu-serial")
    if suffix == "csv":
        assert path.read_bytes().decode() == results_csv(runs, "cpu-serial")
        return
    written = json.loads(path.read_text())
    machine = machine_document([], results[0].environment.versions, results[0].environment.commit)
    assert written == json.loads(json_text(results_document(runs, "cpu-serial", machine)))


METRICS = """
from engine.results.columns import Fact
from engine.results.metrics import CommonMetric, Metric
from engine.tasks.product.problem import MatrixProduct

OWN: tuple[Metric[MatrixProduct], ...] = (
    Metric("right", "", "", "", lambda run: run.result.problem.inner, str),
    Metric("other task", "", "", "", lambda run: run.result.problem.taps, str),
    Metric("no such", "", "", "", lambda run: run.result.kernel_s, str),
)
FACTS: tuple[Fact[MatrixProduct], ...] = (Fact("other task", "", "", lambda run: run.result.problem.border),)
COMMON: tuple[CommonMetric, ...] = (
    Metric("one task", "", "", "", lambda run: run.result.problem.inner, str),
)
"""
# What a problem, a measurement and a metric say is enough: all else took two thirds of the time.
MYPY = """
[mypy]
strict = True
follow_imports = silent
[mypy-numpy.*,numba.*,llvmlite.*,zarr.*,PIL.*,tifffile.*]
follow_imports = skip
ignore_missing_imports = True
[mypy-engine.image.*,engine.device.*,engine.flow.*,engine.host.*,engine.api.*,engine.files.*,engine.mask.*]
follow_imports = skip
ignore_missing_imports = True
"""


@pytest.mark.slow
def test_that_mypy_finds_what_a_metric_reads_and_no_run_of_its_task_has(tmp_path):
    (tmp_path / "metrics_here.py").write_text(METRICS)
    (tmp_path / "mypy.ini").write_text(MYPY)
    # To keep what it found took a fifth of the time.
    where = ["--config-file", "mypy.ini", "--cache-dir", os.devnull, "metrics_here.py"]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *where],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert re.findall(r"metrics_here\.py:\d+: error: (.*?)(?:;|  )", found) == [
        '"MatrixProduct" has no attribute "taps"',
        '"Measurement[MatrixProduct]" has no attribute "kernel_s"',
        '"MatrixProduct" has no attribute "border"',
        '"TaskProblem" has no attribute "inner"',
    ]
