from dataclasses import replace

import pytest

from engine.errors import EngineError
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.host.course_requests import CountCourse, MeasureCourse, SaveCourse
from engine.mask.resolve import resolve_mask
from gui.course.course_controller import SAVE_SOURCE, SOURCE, CourseController
from gui.course.course_model import CourseModel
from tests.gui.made_course import OTHER_PAPER, PAPER, PAPERS, made_tables

KERNEL = PAPER.kernels[1]


class Course:
    """A course controller on a bench."""

    def __init__(self, bench, pages=frozenset({"explore"})):
        self.bench = bench
        self.model = CourseModel(pages, lambda: PAPERS)
        self.controller = CourseController(
            self.model, bench.workspace, bench.state, bench.link, bench.messages
        )
        self.pages = []
        self.controller.page_wanted.connect(self.pages.append)


@pytest.fixture
def course(bench):
    return Course(bench)


@pytest.fixture
def slow_course(slow_bench):
    return Course(slow_bench)


def test_that_loading_sets_everything_and_shows_the_page(course):
    workspace = course.bench.workspace
    workspace.change(flip=True, normalise=True)
    course.model.ask_to_load(KERNEL)
    settings = workspace.settings
    assert (settings.variant, settings.block, settings.border) == ("naive", Block(32, 8), Border.REPLICATE)
    assert workspace.applied_mask() == resolve_mask("gaussian:5:1")
    assert course.pages == ["explore"]


def test_that_loading_is_one_step_that_can_be_undone_and_done_again(course):
    workspace = course.bench.workspace
    workspace.change(flip=True, block=Block(8, 8), device="cpu")
    before = workspace.mask, workspace.settings
    course.model.ask_to_load(KERNEL)
    after = workspace.mask, workspace.settings
    assert workspace.undo_stack.count() == 1
    assert workspace.undo_stack.undoText() == "Load ConvolutionKernel"
    workspace.undo_stack.undo()
    assert (workspace.mask, workspace.settings) == before
    workspace.undo_stack.redo()
    assert (workspace.mask, workspace.settings) == after


def test_that_loading_what_is_there_already_is_no_step(course):
    course.model.ask_to_load(KERNEL)
    course.model.ask_to_load(KERNEL)
    assert course.bench.workspace.undo_stack.count() == 1
    assert course.pages == ["explore", "explore"]


@pytest.mark.parametrize("kernel", [*PAPER.kernels[2:], OTHER_PAPER.kernels[0]], ids=lambda k: k.name)
def test_that_what_cannot_be_loaded_is_told_and_nothing_changes(course, kernel):
    workspace = course.bench.workspace
    before = workspace.mask, workspace.settings
    course.model.ask_to_load(kernel)
    assert (workspace.mask, workspace.settings) == before
    assert course.pages == []
    assert kernel.name in course.bench.messages.of(SOURCE).what


def test_that_a_matrix_product_goes_to_its_own_page(bench):
    course = Course(bench, frozenset({"explore", "matrices"}))
    products = []
    course.controller.product_wanted.connect(products.append)
    course.model.ask_to_load(OTHER_PAPER.kernels[0])
    assert products == [OTHER_PAPER.kernels[0].here]
    assert course.pages == ["matrices"]
    assert bench.workspace.undo_stack.count() == 0


def test_that_a_paper_is_counted_when_it_is_chosen(course):
    course.model.choose(PAPER.key)
    course.bench.settle()
    assert course.model.known(PAPER.key).tables == made_tables(measured=False)
    assert not course.model.known(PAPER.key).is_measured


def test_that_a_paper_is_asked_for_once_until_it_is_answered(slow_course):
    slow_course.model.choose(PAPER.key)
    slow_course.model.ask_for_counts()
    assert len(slow_course.bench.fake.waiting(CountCourse)) == 1


def test_that_a_successor_is_asked_for_what_the_lost_host_took_along(slow_course):
    bench = slow_course.bench
    slow_course.model.choose(PAPER.key)
    bench.fake.lose()
    bench.settle()
    bench.fake.become_ready()
    bench.settle()
    (asked,) = bench.fake.waiting(CountCourse)
    bench.fake.answer(asked)
    bench.settle()
    assert slow_course.model.known(PAPER.key).tables


def test_that_a_count_that_fails_is_told_where_the_table_would_be(slow_course):
    slow_course.model.choose(PAPER.key)
    slow_course.bench.fake.fail(EngineError("paper 'x'", "no paper is called that"))
    slow_course.bench.settle()
    assert "no paper is called that" in slow_course.model.known(PAPER.key).problem


def test_that_measuring_tells_its_progress_and_ends_with_tables(slow_course):
    bench, model = slow_course.bench, slow_course.model
    model.choose(PAPER.key)
    bench.fake.answer_all(CountCourse)
    model.ask_to_measure()
    assert bench.state.running
    (asked,) = bench.fake.waiting(MeasureCourse)
    bench.fake.tell("512 x 512, naive", 0.25, asked)
    bench.settle()
    assert (model.measuring.stage, model.measuring.fraction) == ("512 x 512, naive", 0.25)
    assert "512 x 512, naive" in bench.state.stage
    bench.fake.answer(asked)
    bench.settle()
    assert model.known(PAPER.key).tables == made_tables(measured=True)
    assert model.measuring is None
    assert not bench.state.running
    assert not bench.state.busy


def test_that_cancelling_keeps_the_tables_that_were_there(slow_course):
    bench, model = slow_course.bench, slow_course.model
    model.choose(PAPER.key)
    bench.fake.answer_all(CountCourse)
    bench.settle()
    model.ask_to_measure()
    model.ask_to_cancel()
    assert bench.state.cancelling
    bench.settle()
    assert isinstance(bench.fake.cancelled[0], MeasureCourse)
    assert model.known(PAPER.key).tables == made_tables(measured=False)
    assert model.measuring is None
    assert not bench.state.running
    assert bench.messages.of(SOURCE) is None


def test_that_a_measurement_that_fails_is_told_and_the_window_goes_on(slow_course):
    bench, model = slow_course.bench, slow_course.model
    model.choose(PAPER.key)
    model.ask_to_measure()
    bench.fake.fail(
        EngineError("Not enough memory", "there is no more"), bench.fake.waiting(MeasureCourse)[0]
    )
    bench.settle()
    assert bench.messages.of(SOURCE).what == "Not enough memory"
    assert not bench.state.running


def test_that_a_measurement_waits_for_no_run_and_a_run_for_no_measurement(slow_course):
    bench, model = slow_course.bench, slow_course.model
    model.choose(PAPER.key)
    bench.runs.run()
    model.ask_to_measure()
    assert bench.fake.waiting(MeasureCourse) == []


@pytest.mark.parametrize(
    ("chosen", "asked"), [("auto", "auto"), ("simulator", "auto"), ("cpu", "auto"), ("cuda:1", "cuda:1")]
)
def test_that_the_simulator_is_never_measured(slow_course, chosen, asked):
    slow_course.bench.workspace.change(device=chosen)
    slow_course.model.choose(PAPER.key)
    slow_course.model.ask_to_measure()
    (measure,) = slow_course.bench.fake.waiting(MeasureCourse)
    assert measure.request == replace(MeasureCourse(PAPER.key), device=asked)


def test_that_tables_are_saved_in_a_folder_of_their_own(course, tmp_path):
    course.model.choose(PAPER.key)
    course.bench.settle()
    course.controller.save(PAPER.key, tmp_path)
    course.bench.settle()
    asked = course.bench.fake.seen[-1]
    assert asked == SaveCourse(PAPER.key, made_tables(measured=False), str(tmp_path / "report-tables"))
    assert "report-tables" in course.bench.messages.of(SAVE_SOURCE).what
    assert not course.bench.state.busy


def test_that_a_save_that_fails_is_told(slow_course, tmp_path):
    slow_course.controller.save(PAPER.key, tmp_path)
    slow_course.bench.fake.fail(EngineError("That folder cannot be used", "it is a file"))
    slow_course.bench.settle()
    assert slow_course.bench.messages.of(SAVE_SOURCE).why == "it is a file"
    assert not slow_course.bench.state.busy
