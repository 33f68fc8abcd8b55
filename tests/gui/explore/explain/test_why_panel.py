"""The panel Why: bounds, sentence, remedy and launch of the selected run; in words where there are none."""

from dataclasses import replace

import pytest
from PySide6.QtGui import QTextDocumentFragment

from engine.device_info import RECORDED
from engine.explain.device_limits import MeasureLimits
from engine.explain.messages import TimeRequest
from engine.host.request import Preview, Ready
from engine.mask.presets import preset
from engine.results.metrics import number_of
from engine.results.occupancy import LaunchFacts
from engine.tasks.messages import RecordedRuns
from engine.work.steps import MaskStep
from gui.explore.chain.chain_actions import added, new_step
from gui.explore.explain.why_panel import WhyPanel, numbers_of, sentence_html
from gui.explore.jobs import comparable_of
from gui.style.theme import LIGHT
from tests.gui.made_explained import LAUNCH, SENTENCE, WITH_A_GPU, add_gpu_run, gpu_run, made_limits
from tests.gui.made_results import CPU_DEVICE, VARIANTS
from tests.made_runs import make_failure, make_result

WORDS = SENTENCE.replace("`", "")
TIME = TimeRequest


@pytest.fixture
def make_panel(explained):
    """Return a function that makes the panel on a bench with a GPU whose limits were measured."""

    def make(bench, *, is_measured=True):
        bench.state.set_ready(WITH_A_GPU)
        bench.fake.limits = {"cuda:0": made_limits()} if is_measured else {}
        return explained(bench, WhyPanel)

    return make


@pytest.fixture
def panel(make_panel, bench):
    """The panel on a bench whose engine answers at once."""
    return make_panel(bench)


@pytest.fixture
def slow_panel(make_panel, slow_bench):
    """The panel on a bench whose engine answers when the test says so; limits are known."""
    panel = make_panel(slow_bench)
    add(slow_bench)
    return panel


def add(bench, *given, **fields):
    result = add_gpu_run(bench.results, bench.workspace, *given, **fields)
    bench.settle()
    return result


def show_recorded(bench, panel, variant="naive", **fields):
    """Show a recorded run of the present problem, and select it."""
    bench.results.follow(comparable_of(bench.workspace.filter_job()))
    run = gpu_run(bench.workspace.filter_job(), variant, device=RECORDED, **fields)
    bench.results.show_recorded(RecordedRuns((run,), ""))
    bench.results.describe(run)
    bench.settle()


def read(panel):
    return QTextDocumentFragment.fromHtml(panel.sentence.text()).toPlainText()


def test_that_bounds_stand_beside_the_time_and_a_click_on_the_remedy_chooses_its_variant(bench, panel):
    first = add(bench)
    assert panel.bars.accessibleDescription() == (
        "instructions issued 300 µs; loads by sectors 168 µs; copy 32.0 µs; multiply-adds 12.0 µs"
    )
    (request,) = bench.asked(TIME)
    assert (request.job.variant, request.job.device, str(request.job.block)) == ("naive", "cuda:0", "32 × 8")
    assert request.measured_ms == 0.4
    panel.sentence.linkActivated.emit("tiled")
    assert bench.workspace.settings.variant == "tiled"
    # What came is kept with the result.
    add(bench, "tiled")
    kept = bench.results.results()[0]
    assert number_of(kept, "share_of_tallest_limit") == pytest.approx(0.75)
    assert number_of(kept, "transactions_per_request") == 1.9
    bench.results.describe(kept)
    bench.settle()
    assert first.explained is None
    assert len(bench.asked(TIME)) == 2
    assert "300 µs" in panel.bars.accessibleDescription()


def test_that_the_remedy_of_a_recorded_run_is_recorded_and_stays_with_another_mask(bench, make_panel):
    panel = make_panel(bench)
    runs = tuple(gpu_run(bench.workspace.filter_job(), key, device=RECORDED) for key in ("cached", "tiled"))
    bench.results.show_recorded(RecordedRuns(runs, ""))
    bench.results.describe(runs[0])
    panel.sentence.linkActivated.emit("tiled")
    assert bench.results.described.result is runs[1]
    job = bench.workspace.filter_job()
    before, after = (
        tuple(gpu_run(job, key, device=RECORDED) for key in ("cached", "tiled")) for _ in range(2)
    )
    bench.results.show_recorded(RecordedRuns(before, ""))
    bench.results.describe(before[1])
    bench.results.show_recorded(RecordedRuns(after, "Nearest recorded"))
    assert bench.results.described.result is after[1]


def test_that_nothing_is_asked_while_it_is_hidden_and_a_result_keeps_its_place_and_its_baseline(bench, panel):
    panel.state.watch(False)
    result = add(bench)
    assert not bench.asked(TIME)
    bench.results.use_as_baseline(result)
    panel.state.watch(True)
    bench.settle()
    (kept,) = bench.results.results()
    assert kept.explained is not None
    assert bench.results.chosen is kept
    assert bench.results.described.result is kept
    assert not bench.results.is_earlier(kept)


def test_that_a_question_makes_way_and_is_dropped_when_another_result_is_selected(slow_bench, slow_panel):
    for task in ("run", "preview"):
        slow_bench.state.set_task(task, "computing")
        slow_bench.settle()
        assert not slow_bench.fake.waiting(TIME)
        assert read(slow_panel) == "The time is explained once nothing else runs."
        slow_bench.state.end_task(task)
        slow_bench.settle()
        assert len(slow_bench.fake.waiting(TIME)) == 1
    slow_bench.lose()
    assert read(slow_panel) == "The time is explained once the engine is up."
    slow_bench.become_ready()
    slow_bench.answer_all((Preview, MaskStep))
    assert len(slow_bench.fake.waiting(TIME)) == 1
    add(slow_bench, "tiled")
    assert slow_bench.fake.cancelled[-1].job.variant == "naive"
    slow_bench.answer_all(TIME)
    assert [one.explained is not None for one in slow_bench.results.results()] == [False, True]


def test_that_limits_that_were_not_measured_are_measured_with_a_click(bench, make_panel):
    panel = make_panel(bench, is_measured=False)
    add(bench)
    assert read(panel).startswith("The limits of NVIDIA H200 are not known. They are what it does per second")
    assert panel.button.text() == "Measure the limits (2 s)"
    panel.button.click()
    bench.settle()
    assert [one.device for one in bench.fake.seen if isinstance(one, MeasureLimits)] == ["cuda:0"]
    assert read(panel) == WORDS
    assert panel.button.isHidden()


def test_that_words_stand_where_a_result_cannot_be_explained(bench, panel):
    for result, words in (
        (make_result("naive", 0.4), "What this run did is no longer known, only its numbers."),
        (make_failure("naive"), "There is no time to explain: launch failed: out of resources"),
    ):
        bench.results.add(result)
        bench.settle()
        assert panel.stack.text.startswith(words)
        assert not bench.asked(TIME)


def test_that_runs_of_other_operations_and_of_chains_are_said_to_have_no_explanation(bench, panel):
    bench.workspace.choose("median")
    bench.settle()
    bench.runs.run()
    bench.settle()
    assert panel.stack.text.startswith("Times are explained of convolutions only")
    bench.workspace.choose("")
    state = bench.workspace.state
    bench.workspace.edit(added(state, new_step(state.step, "")), "Add step")
    bench.settle()
    # Automatic is selected: what ran is what the panel speaks of, not the kernel that was chosen for a step.
    bench.runs.run()
    bench.settle()
    assert panel.stack.text.startswith("Run 2: ")
    assert "not of a chain" in panel.stack.text
    panel.state.selection.select("naive")
    bench.settle()
    assert "was not run yet" in panel.stack.text


def test_that_a_recorded_run_is_explained_without_a_gpu_unless_it_is_of_a_cpu(bench, make_panel):
    panel = make_panel(bench)
    bench.state.set_ready(Ready(VARIANTS, (CPU_DEVICE,)))
    show_recorded(bench, panel, "cpu-serial", launches=None)
    assert not bench.asked(TIME)
    assert panel.stack.text.startswith(
        "The recording keeps what its GPU does per second at most, not what its CPU"
    )
    bench.fake.limits = {RECORDED: made_limits(RECORDED)}
    show_recorded(bench, panel)
    assert [one.job.device for one in bench.asked(TIME)] == [RECORDED]
    assert read(panel) == WORDS


def test_that_a_button_sets_what_a_run_was_recorded_for_or_leads_to_a_recorded_run(bench, make_panel):
    panel = make_panel(bench)
    bench.state.set_ready(Ready(VARIANTS, (CPU_DEVICE,)))
    panel.state.watch(False)
    show_recorded(bench, panel)
    bench.workspace.set_mask(preset("emboss"))
    panel.state.watch(True)
    bench.settle()
    recorded = bench.results.described.result
    assert recorded.mask_name in read(panel)
    panel.button.click()
    bench.settle()
    job = bench.workspace.filter_job()
    assert job.mask.weights_digest == recorded.weights_digest
    assert job.filter.border == "zero"
    bench.workspace.undo_stack.undo()
    assert bench.workspace.mask == preset("emboss")
    bench.workspace.change(variant="tiled")
    bench.settle()
    runs = tuple(gpu_run(bench.workspace.filter_job(), key, device=RECORDED) for key in ("cached", "tiled"))
    bench.results.show_recorded(RecordedRuns(runs, ""))
    panel.button.click()
    assert bench.results.described.result is runs[1]
    assert bench.state.shows_recorded


def test_that_a_simulated_run_has_bounds_and_a_run_is_compared_with_another_kernel(bench, panel):
    add(bench, "naive", 0.4)
    add(bench, "cached", 0.3)
    add(bench, "tiled", 0.2)
    panel.state.selection.compare_with("naive")
    bench.settle()
    assert panel.compared.text() == (
        "Compared with naive (run 1): time 0.500×, instructions issued 0.500×, loads by sectors 0.500×, "
        "transactions per request 1.00×. What tiled saves against naive: loads."
    )
    add(bench, "tiled", 0.2, weights_digest="of another mask")
    assert "naive" in panel.compared.text()
    assert "0.500" not in panel.compared.text()
    panel.state.selection.compare_with("cpu-serial")
    bench.settle()
    assert "cpu-serial" in panel.compared.text()
    bench.fake.limits["simulator"] = made_limits("simulator")
    add(bench, device="simulator")
    assert bench.asked(TIME)[-1].measured_ms is None
    assert "No time was measured" in panel.caption.text()


LINK = f"<a href='tiled' style='color: {LIGHT.accent}'>"


def test_that_the_remedy_is_a_link_and_several_launches_have_their_numbers_side_by_side():
    for sentence, remedy, title, html in [
        ("Slow. `tiled` is not.", "tiled", "Tiled", f"Slow. {LINK}tiled</a> is not."),
        ("Slow & so.", "tiled", "Tiled", f"Slow &amp; so. {LINK}Choose Tiled</a>"),
        ("Slow. `tiled` is not.", "tiled", "", "Slow. <b>tiled</b> is not."),
        ("See `devices --measure`.", "", "", "See <b>devices --measure</b>."),
    ]:
        assert sentence_html(sentence, remedy, title, LIGHT) == html
    launch = LaunchFacts((2, 8, 1), (32, 8, 1))
    assert [number.name for number in numbers_of([launch], None)] == ["Launch"]
    launches = [replace(LAUNCH, registers=registers) for registers in (40, 32)]
    shown = {number.name: number.text for number in numbers_of(launches, None)}
    assert (shown["Registers"], shown["Waves"]) == ("40 per thread · 32 per thread", "20.7")
