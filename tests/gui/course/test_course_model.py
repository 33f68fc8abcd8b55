"""Tables are counted, measured, saved and recorded; measured ones are in sessions."""

import json
from dataclasses import replace

import pytest

from engine.course.papers import PAPERS as ALL
from engine.course.papers import (
    CountCourse,
    CourseRequest,
    MeasureCourse,
    MeasuredPaper,
    RecordedCourse,
    SaveCourse,
)
from engine.course.tables import counted_tables
from engine.errors import BadValue, EngineError
from gui.course.course_model import SAVE_SOURCE, SOURCE, CourseController, CourseModel, part_of, show_part
from tests.gui.made_results import OTHER_PAPER, PAPER, PAPERS, made_tables
from tests.made_runs import make_result

COUNTED, MEASURED = made_tables(measured=False), made_tables(measured=True)


class Course:
    """A course controller on a bench whose engine answers on request; a paper is chosen, not yet counted."""

    def __init__(self, bench):
        self.bench, self.fake, self.state, self.answer = bench, bench.fake, bench.state, bench.answer_all
        self.model = CourseModel(PAPERS)
        self.controller = CourseController(self.model, bench.services, bench.messages)
        self.model.choose(PAPER.key)

    @property
    def tables(self):
        return self.model.known(PAPER.key).tables

    @property
    def message(self):
        return self.bench.messages.of(SOURCE) or self.bench.messages.of(SAVE_SOURCE)


@pytest.fixture
def course(slow_bench):
    return Course(slow_bench)


def test_that_a_paper_is_counted_once_its_transactions_later_until_another_is_chosen(course):
    course.controller.count()
    assert len(course.fake.waiting(CourseRequest)) == 1
    assert course.fake.waiting(CountCourse) == []
    course.answer(CourseRequest)
    assert (course.tables, PAPER.key in course.model.measured) == (COUNTED, False)
    course.controller.count()
    course.model.choose("a paper that there is not")
    assert course.fake.waiting((CourseRequest,)) == []
    assert course.model.paper == PAPER
    assert [one.request.paper for one in course.fake.waiting(CountCourse)] == [PAPER.key]
    course.model.choose(OTHER_PAPER.key)
    course.answer((CourseRequest,))
    assert [one.request.paper for one in course.fake.waiting(CountCourse)] == [OTHER_PAPER.key]
    course.model.choose(PAPER.key)
    course.answer(CountCourse)
    assert course.model.known(PAPER.key).problem == ""
    course.controller.count()
    assert course.fake.waiting(CountCourse) == []


def test_that_the_successor_of_a_lost_host_gets_the_request(course):
    course.bench.fail(EngineError("paper 'x'", "no paper is called that"))
    assert "no paper is called that" in course.model.known(PAPER.key).problem
    course.controller.count()
    course.bench.lose()
    course.bench.become_ready()
    course.answer(CourseRequest)
    assert course.tables == COUNTED


def test_that_measuring_ends_with_tables(course):
    course.controller.measure(PAPER.key)
    assert course.state.running
    course.bench.tell("512 × 512, naive", 0.25, MeasureCourse)
    assert (course.state.stage, course.state.fraction) == ("Tables of report: 512 × 512, naive", 0.25)
    course.answer(MeasureCourse)
    # The count, which was slower, does not take their place.
    course.answer(CourseRequest)
    assert (course.tables, PAPER.key in course.model.measured) == (MEASURED, True)
    assert not course.state.running


def test_that_a_measurement_that_is_cancelled_or_fails_keeps_the_tables_that_were_there(course):
    course.answer(CourseRequest)
    for is_cancelled in (True, False):
        course.controller.measure(PAPER.key)
        if is_cancelled:
            course.bench.jobs.cancel()
            assert course.state.cancelling
            course.bench.settle()
        else:
            course.bench.fail(EngineError("Not enough memory", "there is no more"), MeasureCourse)
        assert course.tables == COUNTED
        assert not course.state.running
        assert (course.message is None) == is_cancelled
    assert course.message.what == "Not enough memory"


def test_that_nothing_is_measured_where_times_would_mean_nothing(course):
    for chosen, device in (("auto", "auto"), ("simulator", "auto"), ("cpu", "auto"), ("cuda:1", "cuda:1")):
        course.state.chosen_device = chosen
        course.controller.measure(PAPER.key)
        assert [one.request.device for one in course.fake.waiting(MeasureCourse)] == [device]
        course.answer(MeasureCourse)
    course.bench.runs.run()
    course.controller.measure(PAPER.key)
    assert course.fake.waiting(MeasureCourse) == []


def test_that_tables_are_saved_in_a_folder_of_their_own_or_the_reason_is_given(course, tmp_path):
    course.answer(CourseRequest)
    course.controller.save(PAPER.key, tmp_path)
    (asked,) = course.fake.waiting(SaveCourse)
    assert asked.request == SaveCourse(PAPER.key, COUNTED, str(tmp_path / "report-tables"))
    course.answer(SaveCourse)
    assert "report-tables" in course.message.what
    course.controller.save(PAPER.key, tmp_path)
    course.bench.fail(EngineError("That folder cannot be used", "it is a file"), SaveCourse)
    assert course.message.why == "it is a file"
    assert not course.state.busy


def test_that_recorded_figures_are_asked_for_once_and_stand_beside_others_while_they_are_shown(course):
    assert course.fake.waiting(RecordedCourse) == []
    course.state.show_recorded(True)
    for kind in (RecordedCourse, CourseRequest):
        course.answer(kind)
    recorded = [row[-1].recorded for row in course.model.tables(PAPER.key)[0].rows]
    assert recorded == ["0.00002"] * 3
    course.state.show_recorded(False)
    assert course.model.tables(PAPER.key) == COUNTED, "so are those that are saved"
    course.state.show_recorded(True)
    assert course.fake.waiting(RecordedCourse) == []


FIRST = ALL[0].key


def test_that_every_table_of_a_paper_is_the_same_after_a_session():
    for paper in [paper.key for paper in ALL]:
        counted = counted_tables(paper)
        figures = [replace(table, notes=(*table.notes, "Measured.")) for table in counted]
        course, other = CourseModel(), CourseModel()
        course.know(paper, counted=counted)
        assert part_of(course) == {}, "nothing was measured"
        course.know(paper, measured=MeasuredPaper(tuple(figures), (make_result("naive"),)))
        part = json.loads(json.dumps(part_of(course), allow_nan=False))
        show_part(other, part)
        assert not other.known(paper).tables, "they are shown once they are counted"
        other.know(paper, counted=counted)
        assert other.known(paper).tables == course.known(paper).tables


def test_that_of_damaged_tables_the_others_are_shown_and_the_damage_is_said():
    for damage, words in [
        (lambda measured: measured.pop("tables"), "tables"),
        (lambda measured: measured.update(tables=[{"title": 3}]), "paper"),
        (lambda measured: measured["tables"][0]["rows"][0].pop(), "another length than its headings"),
        (lambda measured: measured.update(results=[{"task": "none"}]), "paper"),
        (lambda measured: measured.update(results=7), "paper"),
    ]:
        course, other = CourseModel(), CourseModel()
        for paper in ALL[:2]:
            course.know(paper.key, measured=MeasuredPaper(MEASURED, (make_result("naive"),)))
        part = json.loads(json.dumps(part_of(course)))
        damage(part["measured"][FIRST])
        part["measured"]["thesis"] = part["measured"][ALL[1].key]
        part["brightness"] = 3
        with pytest.raises(BadValue, match=words) as caught:
            show_part(other, part)
        assert set(other.measured) == {ALL[1].key}
        for said in (f"paper {FIRST} was left out", "paper thesis was left out", '"brightness" is not known'):
            assert said in str(caught.value)
