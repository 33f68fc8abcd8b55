from engine.errors import HostLost, OutOfDeviceMemory
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.host.request import Check, Preview, Run
from engine.mask.mask import Mask
from engine.work.steps import MaskStep
from gui.explore.jobs import failed_run
from gui.page.messages import Severity
from tests.gui import fake_engine
from tests.gui.made_results import VARIANTS, make_picture
from tests.made_runs import make_result
from tests.picture_jobs import mask_job

ERROR = HostLost("The engine's process ended", "it was killed", "Run again.")


def runs(bench):
    return bench.fake.waiting(Run)


def run_every_variant(bench):
    bench.runs.run_every_variant()
    bench.answer_all((Check, MaskStep))


def statuses(bench):
    return [(result.variant, bool(result.failure)) for result in bench.results.results()]


def test_that_a_run_becomes_a_row_whose_picture_is_shown_and_the_fastest_of_all_is_selected(
    bench, monkeypatch
):
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
    bench.results.take_out(bench.results.kept)
    times = {"cpu-serial": 3.0, "cpu-parallel": 1.0, "naive": 2.0}
    monkeypatch.setattr(fake_engine, "_run_result", lambda job: make_result(job.variant, times[job.variant]))
    run_every_variant(bench)
    assert [run.result.variant for run in bench.results.selected] == ["cpu-parallel"], "the fastest"


def test_that_every_available_variant_is_run_in_order_with_the_job_of_the_beginning(slow_bench):
    run_every_variant(slow_bench)
    slow_bench.answer(Run)
    slow_bench.change(border=Border.WRAP)
    assert runs(slow_bench)[0].request.job.filter.border is Border.ZERO
    shown = slow_bench.state.last_result
    slow_bench.answer(Run)
    slow_bench.answer(Run)
    assert statuses(slow_bench) == [("cpu-serial", False), ("cpu-parallel", False), ("naive", False)]
    assert slow_bench.state.last_result is shown, "these are of an older job"
    assert slow_bench.fake.waiting(Preview)


def test_that_cancel_stops_the_variant_with_those_that_wait(slow_bench):
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


def test_that_a_failed_run_becomes_a_row_among_the_others(slow_bench):
    run_every_variant(slow_bench)
    error = OutOfDeviceMemory("The picture", "it needs 9 GB and 4 are free", "Use a smaller one.")
    slow_bench.fail(error, Run)
    slow_bench.answer(Run)
    slow_bench.answer(Run)
    assert statuses(slow_bench) == [("cpu-serial", True), ("cpu-parallel", False), ("naive", False)]
    assert "9 GB" in slow_bench.results.results()[0].status
    assert slow_bench.messages.of("run").severity is Severity.ERROR
    slow_bench.workspace.change(border=Border.WRAP)
    assert slow_bench.messages.of("run") is None


def test_that_the_next_run_goes_through_after_a_lost_host_and_the_gpu_can_be_tried_again(slow_bench):
    slow_bench.runs.run()
    slow_bench.lose()
    assert statuses(slow_bench) == [("auto", True)]
    assert "SIGKILL" in slow_bench.results.results()[0].status
    assert "The engine's process ended" in slow_bench.messages.newest.what
    assert not slow_bench.state.running
    slow_bench.become_ready()
    assert "A new one is running" in slow_bench.messages.newest.remedy
    slow_bench.fake.automatic = True
    slow_bench.fake.answer_all(Preview)
    slow_bench.runs.run()
    slow_bench.settle()
    assert statuses(slow_bench) == [("auto", True), ("cpu-parallel", False)]
    slow_bench.fake.use_cuda = False
    slow_bench.lose()
    assert slow_bench.messages.newest.action == "Try the GPU again"
    slow_bench.messages.newest.act()
    slow_bench.settle()
    assert slow_bench.fake.use_cuda
    assert slow_bench.messages.of("engine") is None


BLOCKS = (Block(8, 8), Block(32, 16), Block(32, 32))


def crossed(bench):
    jobs = [request.job for request in bench.fake.seen if isinstance(request, Run)]
    return [(job.variant, job.block) for job in jobs]


def test_that_run_all_crosses_the_kernels_with_the_blocks_they_take(make_bench):
    bench = make_bench(unavailable={})
    bench.open()
    bench.change(blocks=BLOCKS)
    bench.runs.run_every_variant()
    bench.settle()
    whole = [(one.key, None) for one in VARIANTS if not one.uses_block]
    pairs = [*whole, *((one.key, block) for one in VARIANTS if one.uses_block for block in BLOCKS[:2])]
    assert crossed(bench) == pairs
    assert [(result.variant, result.block) for result in bench.results.results()] == pairs
    assert all(request.budget_s < 0.5 for request in bench.fake.seen if isinstance(request, Run))
    refused = bench.cells.all()["naive"][Block(32, 32)]
    assert "shared memory" in refused.short
    shown = {bench.workspace.picture.pixels.name, bench.state.last_result.values.name}
    assert bench.fake.leaked == shown, "the pictures of the cells are given back"
    # Run crosses the chosen kernel alone, and says where it takes no block.
    for blocks, variant, new in (
        (BLOCKS[2:], "tiled", []),
        (BLOCKS, "tiled", [("tiled", BLOCKS[0]), ("tiled", BLOCKS[1])]),
        (BLOCKS, "auto", [("cpu-parallel", None)]),
    ):
        before = len(crossed(bench))
        bench.change(blocks=blocks, variant=variant)
        bench.runs.run()
        bench.settle()
        assert crossed(bench)[before:] == new
        assert new or "needs too much shared memory" in bench.messages.newest.why


def test_that_a_stopped_run_of_blocks_leaves_what_is_known(slow_bench):
    slow_bench.fake.unavailable = {}
    slow_bench.change(blocks=BLOCKS, variant="tiled")
    slow_bench.answer_all((Check, MaskStep))
    slow_bench.answer_all(Preview)
    slow_bench.runs.run()
    slow_bench.answer((Check, MaskStep))
    waiting, also_waiting, refused = slow_bench.cells.all()["tiled"].values()
    assert waiting is also_waiting is None
    assert refused
    assert slow_bench.state.stage.startswith("Tiled, block 8 × 8 (1 of 2)")
    slow_bench.answer(Run)
    slow_bench.jobs.cancel()
    slow_bench.settle()
    left = slow_bench.cells.all()["tiled"]
    assert set(left) == {BLOCKS[0], BLOCKS[2]}
    assert left[BLOCKS[0]].result.block == BLOCKS[0]
    assert left[BLOCKS[2]] == refused


def test_that_nothing_is_run_without_a_picture_or_where_no_variant_can(make_bench, slow_bench):
    keys = [variant.key for variant in VARIANTS]
    bench = make_bench(unavailable=dict.fromkeys(keys, "the mask is too large"))
    bench.open()
    bench.runs.run_every_variant()
    bench.settle()
    assert "the mask is too large" in bench.messages.newest.why
    assert not bench.state.running
    empty = make_bench()
    empty.runs.run()
    empty.runs.run_every_variant()
    assert not empty.state.running
    assert not empty.fake.seen
    slow_bench.runs.run()
    slow_bench.runs.run()
    assert len(runs(slow_bench)) == 1


def test_that_a_failed_run_keeps_what_it_was_to_do():
    for key, layout, result_type, dtype in (
        ("cpu-serial", "", "float32", "float32"),
        ("naive", "packed", "same", "uint8"),
        ("auto", "", "float32", "float32"),
    ):
        settings = {"variant": key, "layout": Layout.PACKED, "result_type": result_type}
        variant = next((variant for variant in VARIANTS if variant.key == key), None)
        job = mask_job(picture=make_picture(), mask=Mask([[1]]), **settings)
        result = failed_run(job, variant, ERROR)
        assert (result.variant, result.title) == (key, variant.title if variant else key)
        assert (result.failure, result.layout) == (ERROR.failure, layout)
        assert result.problem.result_dtype == dtype
        assert result.kernel_ms is None
