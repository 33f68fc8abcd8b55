import pytest

from engine.course.paper import CourseKernel
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.host.request import Run
from engine.results.metrics import number_of
from engine.tasks.product.problem import MatrixProduct, ProductGrid, ProductRequest, tile_of
from gui.matrices.matmul_state import SMALL_TILES, MatmulController, MatmulState
from tests.gui.fake_engine import is_kind


@pytest.fixture
def slow(make_bench):
    """A controller with its state around a fake engine that answers when it is told to."""
    bench = make_bench(automatic=False)
    bench.matmul = MatmulState()
    bench.products = MatmulController(bench.matmul, bench.link, bench.jobs, bench.messages)
    return bench


@pytest.fixture
def bench(slow):
    """A controller whose engine answers at once."""
    slow.fake.automatic = True
    return slow


@pytest.fixture
def small(slow):
    """A small product for the simulator that is counted and run."""
    bench = slow
    bench.matmul.shown.emit()
    bench.matmul.try_small()
    bench.answer_all(ProductGrid)
    bench.products.run_all()
    bench.answer_all(ProductGrid)
    return bench


def asked(bench, kind):
    return [request.job for request in bench.fake.seen if is_kind(request, kind)]


def test_that_nothing_is_counted_before_somebody_looks(bench):
    bench.matmul.change(tiles=(8,))
    bench.settle()
    assert asked(bench, ProductGrid) == []
    bench.matmul.shown.emit()
    bench.settle()
    assert [tile_of(row) for row in bench.matmul.results()] == [8, 8, None]
    bench.matmul.change(tiles=(8, 16))
    bench.settle()
    assert [tile_of(row) for row in bench.matmul.results()] == [8, 16, 8, 16, None]


def test_that_only_the_newest_question_is_answered(slow):
    slow.matmul.shown.emit()
    slow.matmul.change(product=MatrixProduct(64, 64, 64))
    first, second = slow.fake.waiting(ProductGrid)
    slow.answer(second)
    slow.answer(first)
    assert {row.problem.rows for row in slow.matmul.results()} == {64}
    slow.lose()
    assert slow.fake.waiting(ProductGrid) == []
    slow.become_ready()
    assert len(slow.fake.waiting(ProductGrid)) == 1


@pytest.mark.parametrize("on_simulator", [False, True], ids=["no GPU", "simulator"])
def test_that_the_simulator_gets_the_kernels_and_the_cpu_gets_numpy(bench, qtbot, on_simulator):
    bench.matmul.shown.emit()
    if on_simulator:
        bench.matmul.try_small()
    bench.settle()
    with qtbot.waitSignal(bench.jobs.finished):
        bench.products.run_all()
    kernels = [*SMALL_TILES, *SMALL_TILES] * on_simulator
    requests = [(request.tile, request.device) for request in asked(bench, (Run, ProductRequest))]
    assert requests == [*((tile, "simulator") for tile in kernels), (None, "auto")]
    assert [row.is_proven for row in bench.matmul.results()] == [on_simulator] * (
        6 if on_simulator else 8
    ) + [True]
    assert (bench.state.running, bench.matmul.running) == (False, False)


def test_that_cancel_keeps_what_is_finished(small, qtbot):
    assert small.matmul.running
    small.tell("verifying against the float64 oracle", 0.3)
    assert small.state.stage == "matmul-naive, tile 2 (1 of 7): verifying against the float64 oracle"
    small.answer()
    with qtbot.waitSignal(small.jobs.finished):
        small.jobs.cancel()
    assert [request.job.tile for request in small.fake.cancelled] == [4]
    assert [row.is_proven for row in small.matmul.results()] == [True] + [False] * 6
    assert [row.failure for row in small.matmul.results()] == [None] * 7
    assert not small.state.running
    assert small.messages.count == 0


def test_that_a_cell_that_fails_is_a_row_with_its_reason(small):
    small.fail(EngineError("The product", "the memory is full", "Choose a smaller size."))
    first = small.matmul.results()[0]
    assert first.status == "The product: the memory is full. Choose a smaller size."
    assert number_of(first, "cgma_flop_per_load") == 1.0
    assert len(small.fake.waiting((Run, ProductRequest))) == 1
    assert small.messages.newest.why == "the memory is full"


def test_that_a_run_waits_for_what_changed_just_now_to_be_counted(slow):
    slow.matmul.shown.emit()
    slow.answer_all(ProductGrid)
    slow.matmul.settling.connect(lambda _: slow.matmul.change(product=MatrixProduct(300, 300, 300)))
    slow.products.run_all()
    assert slow.state.running
    assert slow.fake.waiting((Run, ProductRequest)) == []
    slow.answer_all(ProductGrid)
    assert [asked.request.job.product.rows for asked in slow.fake.waiting((Run, ProductRequest))] == [300]


@pytest.mark.parametrize("end", ["cancel", "fail", "lose"])
def test_that_a_run_that_waits_for_the_count_can_end_before_it_begins(slow, qtbot, end):
    slow.matmul.shown.emit()
    with qtbot.waitSignal(slow.jobs.finished):
        slow.products.run_all()
        assert slow.matmul.running
        if end == "cancel":
            slow.jobs.cancel()
        elif end == "fail":
            error = EngineError("The product", "the memory is full", "Choose a smaller size.")
            slow.fake.fail(error, slow.fake.waiting(ProductGrid)[-1])
        else:
            slow.fake.lose()
    slow.answer_all(ProductGrid)
    assert not slow.state.running
    assert not slow.matmul.running
    assert asked(slow, (Run, ProductRequest)) == []


def test_that_nothing_runs_while_an_editor_refuses_or_another_run_goes_on(bench):
    bench.matmul.shown.emit()
    bench.settle()
    refuse = bench.matmul.settling.connect(lambda refusals: refusals.append("no tile"))
    bench.products.run_all()
    bench.matmul.settling.disconnect(refuse)
    assert not bench.state.running
    bench.state.set_running(True)
    bench.products.run_all()
    assert asked(bench, (Run, ProductRequest)) == []


def test_that_a_kernel_of_a_paper_brings_its_tile_unless_a_run_goes_on(bench):
    for variant in ("matmul-tiled", "matmul-naive"):
        bench.products.load(CourseKernel("a kernel", "", variant, block=Block(12, 12)))
        assert (bench.matmul.settings.tiles, bench.matmul.loaded) == ((12,), (variant, 12))
    bench.matmul.change(tiles=(4, 12))
    assert bench.matmul.loaded is None
    bench.products.load(CourseKernel("a kernel", "", "matmul-naive"))
    assert bench.matmul.settings.tiles == (4, 12)
    bench.matmul.set_running(True)
    bench.products.load(CourseKernel("a kernel", "", "matmul-tiled", block=Block(12, 12)))
    assert bench.matmul.settings.tiles == (4, 12)
    assert "matmul-tiled was not loaded" in bench.messages.newest.what
