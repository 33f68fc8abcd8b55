from dataclasses import replace

import pytest

from engine.errors import EngineError
from engine.host.protocol import CountCourse, MeasureCourse, SaveCourse
from gui.course.course_controller import SAVE_SOURCE, SOURCE, CourseController
from gui.course.course_model import CourseModel
from gui.page.intents import LoadKernel
from tests.gui.made_course import OTHER_PAPER, PAPER, PAPERS, made_tables

KERNEL = PAPER.kernels[1]


class Course:
    """A course controller on a bench, whose intents are all taken."""

    def __init__(self, bench):
        self.bench = bench
        self.model = CourseModel(lambda: PAPERS)
        self.offered = []
        self.is_taken = True
        self.controller = CourseController(
            self.model, bench.state, bench.link, bench.jobs, bench.messages, self.offer
        )

    def offer(self, intent):
        self.offered.append(intent)
        return self.is_taken


@pytest.fixture
def course(bench):
    return Course(bench)


@pytest.fixture
def slow_course(slow_bench):
    return Course(slow_bench)


@pytest.mark.parametrize("kernel", [KERNEL, OTHER_PAPER.kernels[0]], ids=lambda k: k.name)
def test_that_loading_offers_the_kernel_to_the_pages(course, kernel):
    course.controller.load(kernel)
    assert course.offered == [LoadKernel(kernel.name, kernel.here)]
    assert course.bench.messages.of(SOURCE) is None


@pytest.mark.parametrize("kernel", PAPER.kernels[2:], ids=lambda k: k.name)
def test_that_what_cannot_be_loaded_is_told_and_offered_to_nobody(course, kernel):
    course.controller.load(kernel)
    assert course.offered == []
    assert kernel.name in course.bench.messages.of(SOURCE).what


def test_that_a_kernel_that_no_page_takes_is_told(course):
    course.is_taken = False
    course.controller.load(OTHER_PAPER.kernels[0])
    assert "no page for matmul" in course.bench.messages.of(SOURCE).why


def test_that_a_paper_is_counted_when_it_is_chosen_and_not_again(course):
    course.model.choose(PAPER.key)
    course.bench.settle()
    known = course.model.known(PAPER.key)
    assert (known.tables, known.is_measured) == (made_tables(measured=False), False)
    asked = len(course.bench.fake.seen)
    course.controller.count()
    assert len(course.bench.fake.seen) == asked


def test_that_a_paper_is_asked_for_once_until_it_is_answered(slow_course):
    slow_course.model.choose(PAPER.key)
    slow_course.controller.count()
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
    slow_course.controller.measure(PAPER.key)
    assert bench.state.running
    (asked,) = bench.fake.waiting(MeasureCourse)
    bench.fake.tell("512 x 512, naive", 0.25, asked)
    bench.settle()
    assert (bench.state.stage, bench.state.fraction) == ("Tables of report: 512 x 512, naive", 0.25)
    bench.fake.answer(asked)
    bench.settle()
    assert model.known(PAPER.key).tables == made_tables(measured=True)
    assert not bench.state.running
    assert not bench.state.busy


def test_that_cancelling_keeps_the_tables_that_were_there(slow_course):
    bench, model = slow_course.bench, slow_course.model
    model.choose(PAPER.key)
    bench.fake.answer_all(CountCourse)
    bench.settle()
    slow_course.controller.measure(PAPER.key)
    bench.jobs.cancel()
    assert bench.state.cancelling
    bench.settle()
    assert isinstance(bench.fake.cancelled[0], MeasureCourse)
    assert model.known(PAPER.key).tables == made_tables(measured=False)
    assert not bench.state.running
    assert bench.messages.of(SOURCE) is None


def test_that_a_measurement_that_fails_is_told_and_the_window_goes_on(slow_course):
    bench, model = slow_course.bench, slow_course.model
    model.choose(PAPER.key)
    slow_course.controller.measure(PAPER.key)
    (asked,) = bench.fake.waiting(MeasureCourse)
    bench.fake.fail(EngineError("Not enough memory", "there is no more"), asked)
    bench.settle()
    assert bench.messages.of(SOURCE).what == "Not enough memory"
    assert not bench.state.running


def test_that_a_measurement_waits_for_no_run_and_a_run_for_no_measurement(slow_course):
    bench, model = slow_course.bench, slow_course.model
    model.choose(PAPER.key)
    bench.runs.run()
    slow_course.controller.measure(PAPER.key)
    assert bench.fake.waiting(MeasureCourse) == []


@pytest.mark.parametrize(
    ("chosen", "asked"), [("auto", "auto"), ("simulator", "auto"), ("cpu", "auto"), ("cuda:1", "cuda:1")]
)
def test_that_the_simulator_is_never_measured(slow_course, chosen, asked):
    slow_course.bench.state.chosen_device = chosen
    slow_course.model.choose(PAPER.key)
    slow_course.controller.measure(PAPER.key)
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
