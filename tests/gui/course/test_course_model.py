from gui.course.course_model import CourseModel
from tests.gui.made_course import OTHER_PAPER, PAPER, PAPERS, made_tables

COUNTED, MEASURED = made_tables(measured=False), made_tables(measured=True)


def test_that_papers_are_read_when_they_are_first_needed(qtbot):
    read = []
    course = CourseModel(read_papers=lambda: read.append("read") or PAPERS)
    assert (read, course.paper) == ([], None)
    assert course.papers == course.papers == PAPERS
    assert read == ["read"]


def test_that_choosing_shows_a_paper_and_one_that_there_is_not_changes_nothing(course, qtbot):
    with qtbot.waitSignal(course.paper_changed):
        course.choose("lab")
    with qtbot.assertNotEmitted(course.paper_changed):
        course.choose("thesis")
    assert course.paper == OTHER_PAPER


def test_that_measured_tables_stay_when_others_are_counted_or_cannot_be(course):
    course.set_counted(PAPER.key, COUNTED)
    course.set_problem(PAPER.key, "The disk is full")
    known = course.known(PAPER.key)
    assert (known.tables, known.problem, known.is_measured) == (COUNTED, "The disk is full", False)
    course.set_measured(PAPER.key, MEASURED)
    course.set_counted(PAPER.key, COUNTED)
    known = course.known(PAPER.key)
    assert (known.tables, known.problem, known.is_measured) == (MEASURED, "", True)
