import pytest

from engine.errors import HostLost, OutOfDeviceMemory
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host.protocol import CheckVariants, FilterJob, Preview, Run
from engine.mask.mask import Mask
from gui.explore.page import no_run_sentence, run_sentence
from gui.explore.run_controller import failed_run
from gui.page.messages import Severity
from tests.gui.made_results import VARIANTS, make_picture
from tests.made_runs import make_failure, make_result, make_simulated

ERROR = HostLost("The engine's process ended", "it was killed", "Run again.")


def runs(bench):
    """Return the runs that have not been answered."""
    return bench.fake.waiting(Run)


def run_every_variant(bench):
    bench.runs.run_every_variant()
    bench.answer_all(CheckVariants)


def statuses(bench):
    return [(result.variant, bool(result.failure)) for result in bench.results.results()]


def test_that_a_run_becomes_a_row_its_picture_is_shown_and_no_memory_is_left_behind(bench):
    before = bench.state.last_result
    bench.runs.run()
    bench.settle()
    assert statuses(bench) == [("cpu-parallel", False)]
    assert bench.state.last_result is not before
    assert bench.state.last_result.result is bench.results.results()[0]
    assert not bench.state.running
    for run in (bench.runs.run, bench.runs.run_every_variant) * 3:
        run()
        bench.settle()
    shown = {bench.workspace.picture.pixels.name, bench.state.last_result.values.name}
    assert bench.fake.leaked == shown


def test_that_nothing_is_run_without_a_picture_or_while_a_run_goes_on(make_bench, slow_bench):
    empty = make_bench()
    empty.runs.run()
    empty.runs.run_every_variant()
    assert not empty.state.running
    assert not empty.fake.seen
    slow_bench.runs.run()
    slow_bench.runs.run()
    assert len(runs(slow_bench)) == 1


def test_that_every_available_variant_is_run_in_order_with_the_job_of_the_beginning(slow_bench):
    run_every_variant(slow_bench)
    slow_bench.answer(Run)
    slow_bench.change(border=Border.WRAP)
    assert runs(slow_bench)[0].request.job.border is Border.ZERO
    slow_bench.answer(Run)
    slow_bench.answer(Run)
    assert statuses(slow_bench) == [("cpu-serial", False), ("cpu-parallel", False), ("naive", False)]


def test_that_a_result_of_an_older_job_is_a_row_but_not_the_picture(slow_bench):
    shown = slow_bench.state.last_result
    slow_bench.runs.run()
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.answer(Run)
    assert len(slow_bench.results.results()) == 1
    assert slow_bench.state.last_result is shown
    assert slow_bench.fake.waiting(Preview)


def test_that_progress_names_the_variant_and_cancel_stops_it_and_those_that_wait_or_would_begin(slow_bench):
    run_every_variant(slow_bench)
    slow_bench.answer(Run)
    slow_bench.tell("verifying", 0.5, Run)
    state = slow_bench.state
    assert (state.stage, state.fraction) == ("CPU, all cores (2 of 3): verifying", 0.5)
    slow_bench.jobs.cancel()
    assert state.cancelling
    slow_bench.settle()
    assert [request.job.variant for request in slow_bench.fake.cancelled] == ["cpu-parallel"]
    assert statuses(slow_bench) == [("cpu-serial", False)]
    assert (state.running, state.cancelling) == (False, False)
    assert slow_bench.messages.newest is None
    slow_bench.runs.run_every_variant()
    slow_bench.jobs.cancel()
    slow_bench.settle()
    assert not slow_bench.state.running
    assert not runs(slow_bench)


def test_that_a_failed_run_becomes_a_row_the_others_go_on_and_its_message_goes_with_the_next_edit(slow_bench):
    run_every_variant(slow_bench)
    error = OutOfDeviceMemory("The picture", "it needs 9 GB and 4 are free", "Use a smaller one.")
    slow_bench.fail(error, Run)
    slow_bench.answer(Run)
    slow_bench.answer(Run)
    assert statuses(slow_bench) == [("cpu-serial", True), ("cpu-parallel", False), ("naive", False)]
    assert "9 GB" in slow_bench.results.results()[0].failure
    assert slow_bench.messages.of("run").severity is Severity.ERROR
    slow_bench.workspace.change(border=Border.WRAP)
    assert slow_bench.messages.of("run") is None


def test_that_a_lost_simulator_or_host_fails_its_run_in_words_and_the_next_run_goes_through(slow_bench):
    slow_bench.workspace.change(device="simulator")
    slow_bench.runs.run()
    slow_bench.lose_simulator()
    assert statuses(slow_bench) == [("auto", True)]
    assert "SIGKILL" in slow_bench.messages.of("run").why
    assert slow_bench.state.is_ready
    assert not slow_bench.state.running
    slow_bench.workspace.change(device="auto")
    slow_bench.runs.run()
    slow_bench.lose()
    assert statuses(slow_bench) == [("auto", True)] * 2
    assert "SIGKILL" in slow_bench.results.results()[1].failure
    assert "The engine's process ended" in slow_bench.messages.newest.what
    assert not slow_bench.state.running
    slow_bench.become_ready()
    assert "A new one is running" in slow_bench.messages.newest.remedy
    slow_bench.fake.automatic = True
    slow_bench.fake.answer_all(Preview)
    slow_bench.runs.run()
    slow_bench.settle()
    assert statuses(slow_bench) == [("auto", True), ("auto", True), ("cpu-parallel", False)]


def test_that_after_repeated_faults_the_gpu_can_be_tried_again(slow_bench):
    slow_bench.fake.use_cuda = False
    slow_bench.lose()
    assert slow_bench.messages.newest.action == "Try the GPU again"
    slow_bench.messages.newest.act()
    slow_bench.settle()
    assert slow_bench.fake.use_cuda
    assert slow_bench.messages.of("engine") is None


def test_that_it_is_said_when_no_variant_can_run(make_bench):
    keys = [variant.key for variant in VARIANTS]
    bench = make_bench(unavailable=dict.fromkeys(keys, "the mask is too large"))
    bench.open()
    bench.runs.run_every_variant()
    bench.settle()
    assert "the mask is too large" in bench.messages.newest.why
    assert not bench.state.running


@pytest.mark.parametrize(
    ("key", "layout", "result_type", "dtype"),
    [
        ("cpu-serial", "", "float32", "float32"),
        ("naive", "packed", "same", "uint8"),
        ("auto", "", "float32", "float32"),
    ],
)
def test_that_a_failed_run_keeps_what_it_was_to_do_and_why_it_failed(key, layout, result_type, dtype):
    settings = {"variant": key, "layout": Layout.PACKED, "result_type": result_type}
    variant = next((variant for variant in VARIANTS if variant.key == key), None)
    result = failed_run(FilterJob(picture=make_picture(), mask=Mask([[1]]), **settings), variant, ERROR)
    assert (result.variant, result.title) == (key, variant.title if variant else key)
    assert (result.failure, result.layout) == (str(ERROR), layout)
    assert result.problem.result_dtype == dtype
    assert result.kernel_ms is None


def test_that_the_last_run_is_named_with_its_time_and_proof_or_why_there_is_none():
    for result, words in (
        (make_result("tiled", 0.04), "Last run: Tiled, 0.0400 ms, verified: every pixel"),
        (make_failure("tiled", "The device failed: illegal address."), "illegal address"),
        (make_simulated("naive"), "its times mean nothing"),
        (make_failure("cpu-fft", "variant 'cpu-fft' here: row 50 is nan."), "Cpu-fft: Row 50 is nan."),
    ):
        assert words in run_sentence(result)
    assert no_run_sentence(True, False) == "No run yet: open a picture first (Ctrl+O)."
    assert no_run_sentence(False, True) == "No run yet: kernels run once the engine is up."
    assert no_run_sentence(True, True) == "No run yet: press Run (Ctrl+R) to measure and verify."
