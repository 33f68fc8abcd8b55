"""The code of a paper's kernels and steps on the page Course."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from engine.course.messages import CourseCode
from engine.course.paper import Cell, CourseTable, Excerpt
from engine.errors import EngineError
from engine.explain.code.source import Role, SourceFunction
from gui.course.course_model import CourseController, CourseModel
from gui.course.course_table import CourseTableView
from gui.course.tables_panel import CodePanel
from tests.gui.made_results import OTHER_PAPER, PAPER, PAPERS, made_excerpts

LINES = tuple(f"line {number}" for number in range(200))
FUNCTION = SourceFunction(Role.HOST, "_enqueue_step", "engine/device/cuda_kernels.py", 109, LINES)
STEP = Excerpt("kernel call", "_enqueue_step", FUNCTION, (150,))
STEPS = CourseTable(
    "Structure",
    ("Step", "Time (ms)", "In our code"),
    ((Cell("allocate"), Cell("", "0.1"), Cell()), (Cell("kernel call"), Cell("", "0.2"), Cell("", "here"))),
    excerpts=((), (STEP,)),
)


@pytest.fixture
def course(qapp):
    course = CourseModel(PAPERS)
    course.choose(PAPER.key)
    return course


@pytest.fixture
def panel(qtbot, course):
    panel = CodePanel(course)
    qtbot.addWidget(panel)
    panel.resize(900, 400)
    panel.show()
    return panel


def test_that_a_kernel_is_shown_under_the_papers_names(panel, course):
    assert "looked up" in panel.stack.text
    panel.show_code_of("ConvolutionKernel")
    course.set_code(PAPER.key, made_excerpts())
    assert panel.choice.currentText() == "ConvolutionKernel: naive"
    assert panel.views.left.toPlainText() == "row, column = cuda.grid(2)\nout[row, column] = 1"
    assert "engine/variants/ladder/made.py, lines 40 to 41" in panel.where.text()
    assert "i is row, j is column" in panel.names.text()


def test_that_a_kernel_that_the_paper_does_not_print_is_shown_alone(panel, course):
    course.set_code(PAPER.key, made_excerpts())
    assert panel.shown.about == "the serial reference"
    assert not panel.views.right.isVisible()
    assert not panel.names.isVisible()


def test_that_what_is_shown_stays_when_more_is_known(panel, course):
    course.set_counted(PAPER.key, (STEPS,))
    panel.show_code_of("kernel call")
    course.set_code(PAPER.key, made_excerpts())
    assert panel.shown == STEP
    assert panel.choice.count() == 1 + len(PAPER.kernels)


def test_that_another_paper_begins_with_its_own_code(panel, course):
    course.set_counted(PAPER.key, (STEPS,))
    panel.show_code_of("kernel call")
    course.choose(OTHER_PAPER.key)
    assert panel.shown is None
    assert "looked up" in panel.stack.text


def test_that_a_reason_stands_where_no_code_is(panel, course):
    course.set_code(PAPER.key, (), "There is no variant lost.")
    assert panel.stack.text == "There is no variant lost."


def test_that_the_lines_of_a_step_are_in_sight_and_lit(panel, course):
    course.set_counted(PAPER.key, (STEPS,))
    course.set_code(PAPER.key, made_excerpts())
    panel.show_code_of("kernel call")
    view = panel.views.left
    assert list(view.marked) == [150]
    assert 150 in [row for row, _, _ in view.rows_in_sight()]


@pytest.fixture
def table(qtbot):
    table = CourseTableView()
    qtbot.addWidget(table)
    table.resize(600, 200)
    table.show()
    table.show_table(STEPS)
    return table


def test_that_a_click_or_enter_on_a_step_asks_for_its_code(table, qtbot):
    asked = []
    table.code_wanted.connect(asked.append)
    index = table.cells.index(1, table.cells.columnCount() - 1)
    assert index.data() == "_enqueue_step"
    assert table.cells.is_words(index.column())
    assert STEP.where in index.data(Qt.ItemDataRole.ToolTipRole)
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualRect(index).center())
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert asked == [STEP, STEP]


@pytest.fixture
def controlled(slow_bench, course):
    """A course controller on a bench whose engine answers on request."""
    bench = slow_bench
    bench.course = course
    parts = bench.state, bench.link, bench.jobs, bench.messages
    bench.controller = CourseController(course, *parts)
    return bench


def test_that_code_is_asked_for_once(controlled):
    for _ in range(2):
        controlled.controller.look_up_code()
    assert len(controlled.fake.waiting(CourseCode)) == 1
    controlled.answer_all(CourseCode)
    assert controlled.course.known(PAPER.key).code == made_excerpts()
    controlled.controller.look_up_code()
    assert controlled.fake.waiting(CourseCode) == []


def test_that_code_that_cannot_be_found_says_why(controlled):
    controlled.controller.look_up_code()
    controlled.fake.fail(EngineError("variant 'lost'", "no variant is called that"), CourseCode)
    QApplication.processEvents()
    assert "no variant is called that" in controlled.course.known(PAPER.key).code_problem
