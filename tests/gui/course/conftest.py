import pytest

from gui.course.course_model import CourseModel
from tests.gui.made_course import PAPER, PAPERS


@pytest.fixture
def course(qtbot):
    """The course of the made papers; the first one is shown."""
    course = CourseModel(PAPERS)
    course.choose(PAPER.key)
    return course
