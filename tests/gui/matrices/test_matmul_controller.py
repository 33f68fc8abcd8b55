import pytest

from engine.course.paper import Configuration
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.host.protocol import CountMatmul, RunMatmul
from engine.results.metrics import number_of
from engine.tasks.product.problem import MatrixProduct
from gui.matrices.matmul_controller import MatmulController
from gui.matrices.matmul_state import SMALL_TILES, MatmulState


@pytest.fixture
def make(make_bench):
    """Make a controller with its state around a fake engine."""

    def build(**options):
        bench = make_bench(**options)
        bench.matmul = MatmulState()
        bench.products = MatmulController(bench.matmul, bench.link, bench.jobs, bench.messages)
        return bench

    return build


@pytest.fixture
def small(make):
    """A bench that answers when it is told to, with a small product for the simulator counted and run."""
    bench = make(automatic=False)
    bench.matmul.count_wanted.emit()
    bench.matmul.try_small()
    answer_counts(bench)
    bench.products.run()
    answer_counts(bench)
    return bench


def answer_counts(bench):
    bench.fake.answer_all(CountMatmul)
    bench.settle()


def asked(bench, kind):
    return [request for request in bench.fake.seen if isinstance(request, kind)]


def test_that_nothing_is_counted_before_somebody_looks(make):
    bench = make()
    bench.matmul.change(tiles=(8,))
    bench.settle()
    assert asked(bench, CountMatmul) == []
    bench.matmul.count_wanted.emit()
    bench.settle()
    assert [row.tile for row in bench.matmul.rows] == [8, 8, None]
    bench.matmul.change(tiles=(8, 16))
    bench.settle()
    assert [row.tile for row in bench.matmul.rows] == [8, 16, 8, 16, None]


def test_that_only_the_newest_question_is_answered(make):
    bench = make(automatic=False)
    bench.matmul.count_wanted.emit()
    bench.matmul.change(product=MatrixProduct(64, 64, 64))
    first, second = bench.fake.waiting(CountMatmul)
    bench.fake.answer(second)
    bench.settle()
    bench.fake.answer(first)
    bench.settle()
    assert {row.problem.rows for row in bench.matmul.rows} == {64}


@pytest.mark.parametrize("on_simulator", [False, True], ids=["no GPU", "simulator"])
def test_that_the_simulator_gets_the_kernels_and_the_cpu_gets_numpy(make, qtbot, on_simulator):
    bench = make()
    bench.matmul.count_wanted.emit()
    if on_simulator:
        bench.matmul.try_small()
    bench.settle()
    with qtbot.waitSignal(bench.jobs.finished):
        bench.products.run()
    kernels = [*SMALL_TILES, *SMALL_TILES] * on_simulator
    requests = [(request.tile, request.device) for request in asked(bench, RunMatmul)]
    assert requests == [*((tile, "simulator") for tile in kernels), (None, "auto")]
    assert [row.is_proven for row in bench.matmul.rows] == [on_simulator] * (6 if on_simulator else 8) + [
        True
    ]
    assert (bench.state.running, bench.matmul.running) == (False, False)


def test_that_cancel_stops_between_cells_and_keeps_what_is_finished(small, qtbot):
    bench = small
    assert bench.matmul.running
    bench.fake.tell("verifying against the float64 oracle", 0.3)
    bench.settle()
    assert bench.state.stage == "matmul-naive, tile 2 (1 of 7): verifying against the float64 oracle"
    bench.fake.answer()
    bench.settle()
    with qtbot.waitSignal(bench.jobs.finished):
        bench.jobs.cancel()
    assert [request.tile for request in bench.fake.cancelled] == [4]
    assert [row.is_proven for row in bench.matmul.rows] == [True] + [False] * 6
    assert [row.failure for row in bench.matmul.rows] == [""] * 7
    assert not bench.state.running
    assert bench.messages.count == 0


def test_that_a_cell_that_fails_is_a_row_with_its_reason_and_the_next_one_runs(small):
    bench = small
    bench.fake.fail(EngineError("The product", "the memory is full", "Choose a smaller size."))
    bench.settle()
    first = bench.matmul.rows[0]
    assert first.failure == "The product: the memory is full. Choose a smaller size."
    assert number_of(first, "cgma_flop_per_load") == 1.0
    assert len(bench.fake.waiting(RunMatmul)) == 1
    assert bench.messages.newest.why == "the memory is full"


def test_that_a_lost_host_is_counted_anew_by_its_successor(make):
    bench = make(automatic=False)
    bench.matmul.count_wanted.emit()
    bench.fake.lose()
    bench.settle()
    assert bench.fake.waiting(CountMatmul) == []
    bench.fake.become_ready()
    bench.settle()
    assert len(bench.fake.waiting(CountMatmul)) == 1


def test_that_a_run_waits_for_what_changed_just_now_to_be_counted(make):
    bench = make(automatic=False)
    bench.matmul.count_wanted.emit()
    answer_counts(bench)
    bench.matmul.settling.connect(lambda _: bench.matmul.change(product=MatrixProduct(300, 300, 300)))
    bench.products.run()
    assert bench.state.running
    assert bench.fake.waiting(RunMatmul) == []
    answer_counts(bench)
    assert [asked.request.product.rows for asked in bench.fake.waiting(RunMatmul)] == [300]


@pytest.mark.parametrize("end", ["cancel", "fail", "lose"])
def test_that_a_run_that_waits_for_the_count_can_end_before_it_begins(make, qtbot, end):
    bench = make(automatic=False)
    bench.matmul.count_wanted.emit()
    with qtbot.waitSignal(bench.jobs.finished):
        bench.products.run()
        assert bench.matmul.running
        if end == "cancel":
            bench.jobs.cancel()
        elif end == "fail":
            error = EngineError("The product", "the memory is full", "Choose a smaller size.")
            bench.fake.fail(error, bench.fake.waiting(CountMatmul)[-1])
        else:
            bench.fake.lose()
    answer_counts(bench)
    assert not bench.state.running
    assert not bench.matmul.running
    assert asked(bench, RunMatmul) == []


def test_that_nothing_runs_while_an_editor_refuses_or_another_run_goes_on(make):
    bench = make()
    bench.matmul.count_wanted.emit()
    bench.settle()
    refuse = bench.matmul.settling.connect(lambda refusals: refusals.append("no tile"))
    bench.products.run()
    bench.matmul.settling.disconnect(refuse)
    assert not bench.state.running
    bench.state.set_running(True)
    bench.products.run()
    assert asked(bench, RunMatmul) == []


def test_that_a_kernel_of_a_paper_brings_its_tile_alone_and_is_marked_until_something_else_is_chosen(make):
    bench = make()
    bench.products.load(Configuration("matmul-tiled", block=Block(12, 12)))
    assert bench.matmul.settings.tiles == (12,)
    assert bench.matmul.loaded == ("matmul-tiled", 12)
    bench.products.load(Configuration("matmul-naive", block=Block(12, 12)))
    assert bench.matmul.loaded == ("matmul-naive", 12)
    bench.matmul.change(tiles=(4, 12))
    assert bench.matmul.loaded is None
    bench.products.load(Configuration("matmul-naive"))
    assert bench.matmul.settings.tiles == (4, 12)


def test_that_nothing_is_loaded_into_a_product_that_is_being_run_and_that_is_told(make):
    bench = make()
    bench.matmul.set_running(True)
    bench.products.load(Configuration("matmul-tiled", block=Block(12, 12)))
    assert bench.matmul.settings.tiles == (4, 8, 16, 32)
    assert "matmul-tiled was not loaded" in bench.messages.newest.what
