from gui.course.course_model import CourseModel
from tests.gui.made_course import OTHER_PAPER, PAPER, PAPERS, made_tables


def make_course(qtbot):
    return CourseModel(read_papers=lambda: PAPERS)


def test_that_papers_are_read_when_they_are_first_needed(qtbot):
    read = []
    course = CourseModel(read_papers=lambda: read.append("read") or PAPERS)
    assert read == []
    assert course.papers == course.papers == PAPERS
    assert read == ["read"]


def test_that_choosing_a_paper_has_it_counted_once_it_is_shown(qtbot):
    course = make_course(qtbot)
    assert course.paper is None
    with qtbot.waitSignals([course.paper_changed, course.count_wanted], order="strict"):
        course.choose("lab")
    assert course.paper == OTHER_PAPER


def test_that_a_paper_with_tables_is_not_counted_again(qtbot):
    course = make_course(qtbot)
    course.set_counted("lab", made_tables(measured=False))
    with qtbot.assertNotEmitted(course.count_wanted):
        course.choose("lab")


def test_that_a_paper_that_there_is_not_leaves_the_one_that_is_shown(qtbot):
    course = make_course(qtbot)
    course.choose("lab")
    with qtbot.assertNotEmitted(course.paper_changed):
        course.choose("thesis")
    assert course.paper == OTHER_PAPER


def test_that_counted_tables_do_not_take_the_place_of_measured_ones(qtbot):
    course = make_course(qtbot)
    course.set_measured(PAPER.key, made_tables(measured=True))
    course.set_counted(PAPER.key, made_tables(measured=False))
    assert course.known(PAPER.key).tables == made_tables(measured=True)
    assert course.known(PAPER.key).is_measured


def test_that_a_problem_leaves_the_tables_that_are_there(qtbot):
    course = make_course(qtbot)
    course.set_counted(PAPER.key, made_tables(measured=False))
    course.set_problem(PAPER.key, "The disk is full")
    assert course.known(PAPER.key).tables == made_tables(measured=False)
    assert course.known(PAPER.key).problem == "The disk is full"
