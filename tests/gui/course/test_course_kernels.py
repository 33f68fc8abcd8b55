import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from gui.course.course_kernels import SECOND_ROLE, VARIANT_ROLE, Column, CourseKernelsModel
from gui.course.course_model import CourseModel
from gui.engine_link.engine_state import EngineState
from tests.gui.made_course import PAPER, PAPERS
from tests.gui.made_results import make_engine_state


@pytest.fixture
def course(qtbot):
    course = CourseModel(read_papers=lambda: PAPERS)
    course.choose(PAPER.key)
    return course


def test_that_a_row_says_what_is_which_and_what_differs(course):
    kernels = CourseKernelsModel(course, make_engine_state())
    QAbstractItemModelTester(kernels, QAbstractItemModelTester.FailureReportingMode.Fatal)
    assert kernels.rowCount() == len(PAPER.kernels)
    assert kernels.index(1, Column.PAPER).data() == "ConvolutionKernel"
    assert kernels.index(1, Column.PAPER).data(SECOND_ROLE) == "2.) Device Function"
    assert kernels.index(1, Column.HERE).data() == kernels.index(1, Column.HERE).data(VARIANT_ROLE) == "naive"
    assert kernels.index(1, Column.HERE).data(SECOND_ROLE) == "gaussian:5:1, 32 x 8, border replicate"
    assert kernels.index(1, Column.DIFFERENCE).data() == "Sums are float32, not double."
    assert kernels.index(0, Column.DIFFERENCE).data() == "Nothing."


def test_that_a_kernel_that_is_not_here_says_so_in_its_row(course):
    kernels = CourseKernelsModel(course, make_engine_state())
    assert [bool(kernels.reason(row)) for row in range(4)] == [False, False, True, True]
    assert "no variant lost" in kernels.index(2, Column.DIFFERENCE).data()
    assert "no such mask" in kernels.index(3, Column.PAPER).data(Qt.ItemDataRole.ToolTipRole)


def test_that_rows_can_be_loaded_as_soon_as_the_engine_names_its_variants(course):
    state = EngineState()
    kernels = CourseKernelsModel(course, state)
    assert "starting" in kernels.reason(0)
    assert kernels.index(1, Column.DIFFERENCE).data() == PAPER.kernels[1].difference
    ready = make_engine_state()
    state.variants, state.devices = ready.variants, ready.devices
    state.set_status(ready.status)
    assert kernels.reason(0) == ""


def test_that_another_paper_has_its_own_kernels(course):
    kernels = CourseKernelsModel(course, make_engine_state())
    course.choose("lab")
    assert [kernels.kernel(row).name for row in range(kernels.rowCount())] == ["MatrixMul"]
