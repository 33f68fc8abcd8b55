"""The panel Ablation: asks on a click only, draws a waterfall, and says what is not there."""

import pytest

from engine.errors import BadValue
from engine.explain.messages import AblationJob
from engine.geometry.block import Block
from engine.host.request import Ready, Run
from gui.explore.explain.ablation_panel import AblationPanel
from tests.gui import fake_engine
from tests.gui.fake_engine import is_kind
from tests.gui.made_explained import counted_ablation
from tests.gui.made_results import CPU_DEVICE, CUDA_DEVICE, VARIANTS

ABLATION = (Run, AblationJob)


@pytest.fixture
def make_panel(explained):
    """Return a function that makes the panel on a bench, with a naive kernel."""

    def make(bench, *, has_gpu=True):
        if has_gpu:
            bench.state.set_ready(Ready(VARIANTS, (CPU_DEVICE, CUDA_DEVICE)))
        return explained(bench, AblationPanel, variant="naive", block=Block(32, 8))

    return make


@pytest.fixture
def panel(make_panel, bench):
    """The panel on a bench whose engine answers at once."""
    return make_panel(bench)


@pytest.fixture
def answered(monkeypatch):
    """Return a function that has the engine answer with another ablation."""
    return lambda made: monkeypatch.setattr(fake_engine, "made_ablation", made)


def run(bench, panel):
    panel.run_button.click()
    bench.settle()


def figures(panel):
    return {row.name: row.figure for row in panel.chart.rows}


def test_that_a_click_asks_once_and_each_cost_of_its_kernel_and_block_has_what_it_takes(bench, panel):
    assert not bench.asked(ABLATION)
    run(bench, panel)
    (request,) = bench.asked(ABLATION)
    assert (request.job.variant, request.job.block) == ("naive", Block(32, 8))
    assert figures(panel) == {
        "whole kernel": "0.360 ms",
        "border test": "0.0700 ms, 19.4 %",
        "picture loads": "0.0500 ms, 13.9 %",
        "weight loads": "0.0300 ms, 8.33 %",
        "stores": "0.00800 ms, 2.22 %",
        "the rest": "0.202 ms, 56.1 %",
    }
    bench.change(block=Block(16, 16))
    assert not panel.chart.rows
    assert panel.stack.text
    bench.change(block=Block(32, 8))
    assert panel.chart.rows
    assert len(bench.asked(ABLATION)) == 1


def test_that_without_a_gpu_instructions_are_counted(bench, make_panel, answered):
    answered(counted_ablation)
    panel = make_panel(bench, has_gpu=False)
    assert panel.stack.text.endswith("the instructions that are left are counted. Press Run ablation.")
    run(bench, panel)
    assert figures(panel)["whole kernel"] == "53.2"
    assert panel.note.text().startswith("No GPU is here, so nothing is timed")


def test_that_the_kernel_to_compare_with_runs_too_and_stands_below(bench, panel):
    panel.state.selection.compare_with("tiled")
    run(bench, panel)
    assert [request.job.variant for request in bench.asked(ABLATION)] == ["naive", "tiled"]
    assert [row.name for row in panel.chart.rows][:4] == ["whole kernel"] * 2 + ["border test"] * 2
    assert [row.is_quiet for row in panel.chart.rows[:4]] == [False, True] * 2
    assert "tiled takes" in panel.sentence.text()
    panel.state.selection.compare_with("cached")
    bench.settle()
    assert not any(row.is_quiet for row in panel.chart.rows)
    panel.state.selection.compare_with("cpu-serial")
    run(bench, panel)
    assert {request.job.variant for request in bench.asked(ABLATION)} == {"naive", "tiled"}


def test_that_an_ablation_can_be_stopped_and_a_failure_is_a_message(slow_bench, make_panel):
    panel = make_panel(slow_bench)
    panel.run_button.click()
    slow_bench.settle()
    slow_bench.jobs.cancel()
    slow_bench.settle()
    assert is_kind(slow_bench.fake.cancelled[-1], ABLATION)
    assert not slow_bench.state.running
    assert not panel.chart.rows
    panel.run_button.click()
    slow_bench.settle()
    slow_bench.fail(BadValue("the kernel", "it is refused here", "Choose another."), ABLATION)
    assert slow_bench.messages.of("ablation").why == "it is refused here"
