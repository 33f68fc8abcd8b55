"""What stands on the page Course: kernels, tables, and the code of kernels and steps."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from engine.course.files import Part, markdown_of, tabs_of
from engine.course.paper import Cell, CourseKernel, CourseTable, Excerpt
from engine.course.papers import CourseCode, MeasuredPaper
from engine.errors import EngineError
from engine.explain.code_lines import Role, SourceFunction
from engine.geometry.block import Block
from gui.course.course_model import CourseController, CourseModel
from gui.course.course_table import IS_QUIET_ROLE, CourseTableModel, CourseTableView, reasons_of
from gui.course.kernels_table import SECOND_ROLE, VARIANT_ROLE, KernelsTable, configuration_text
from gui.course.page import FunctionPanel, TablesPanel
from gui.widgets.plot import FigurePlot
from tests.gui.made_results import (
    NO_GPU,
    NOT_MEASURED,
    OTHER_PAPER,
    PAPER,
    PAPERS,
    made_excerpts,
    made_recorded_paper,
    made_tables,
    make_engine_state,
)


@pytest.fixture
def course(qtbot):
    """The course of the made papers; the first one is shown."""
    course = CourseModel(PAPERS)
    course.choose(PAPER.key)
    return course


def test_that_a_kernel_is_described_in_a_line_and_a_row_says_what_is_which(table, course):
    here = CourseKernel("a kernel", "", "naive", "box-3", Block(32, 8), "replicate", "packed")
    assert configuration_text(here) == "box-3, 32 × 8, border replicate, rows packed"
    assert configuration_text(OTHER_PAPER.kernels[0]) == "tile 16 × 16"
    assert table.rowCount() == len(PAPER.kernels)
    paper, here, difference = (table.item(1, column) for column in range(3))
    assert paper.data(Qt.ItemDataRole.AccessibleTextRole) == "ConvolutionKernel, 2.) Device Function"
    assert here.text() == here.data(VARIANT_ROLE) == "naive"
    assert here.data(SECOND_ROLE) == "gaussian:5:1, 32 × 8, border replicate"
    assert difference.text() == "Sums are float32, not double."
    course.choose("lab")
    assert [table.kernel(row).name for row in range(table.rowCount())] == ["MatrixMul"]


@pytest.fixture
def table(show_widget, course):
    return show_widget(KernelsTable(course), 900, 300)


def test_that_a_kernel_is_loaded_by_mouse_or_keys(table, qtbot):
    loaded = []
    table.load_wanted.connect(loaded.append)
    table.selectRow(1)
    table.load_button.click()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        qtbot.keyClick(table, key)
    point = table.visualItemRect(table.item(0, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=point)
    qtbot.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert loaded == [PAPER.kernels[1]] * 3 + [PAPER.kernels[0]]


TIMES, LOADS = made_tables(measured=True)


@pytest.fixture
def model(qtbot):
    model = CourseTableModel()
    model.tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show(TIMES)
    return model


def test_that_a_cell_says_what_it_is_or_why_it_is_empty(model):
    tips = [model.index(1, column).data(Qt.ItemDataRole.ToolTipRole) for column in range(6)]
    assert tips[3] == "Time serial (ms), 1024x1024, 16: 12.1 on this machine."
    said = "the paper printed 400.", f"empty. {NO_GPU}"
    assert tips[4:] == [f"Time naïve (µs), 1024x1024, 16: {words}" for words in said]
    assert model.index(1, 5).data(Qt.ItemDataRole.AccessibleTextRole) == tips[5]
    assert reasons_of(TIMES) == (f"– (3 cells): {NO_GPU}",)
    assert reasons_of(LOADS) == ()
    cells = [model.index(0, column) for column in range(6)]
    assert [cell.data() for cell in cells] == ["512x512", "16", "18.5", "12.1", "400", "–"]
    assert [cell.data(IS_QUIET_ROLE) for cell in cells] == [False, False, True, False, True, True]


def test_that_times_misprints_and_counts_are_as_people_read_them_and_in_files_as_the_paper_has_them(model):
    texts = (("0.0402", "0.00002224"), ("-1.10", "0.0000502"))
    rows = tuple((Cell("a"), Cell(*times), Cell("0.5 a run")) for times in texts)
    table = CourseTable("t", ("Size", "Change (s)", "Words (s)"), rows)
    model.show(table)
    assert [column.heading for column in model.columns] == ["Size", "Change (µs)", "Change (µs)", "Words (s)"]
    shown = [[model.index(row, column).data() for column in (1, 2)] for row in (0, 1)]
    assert shown == [["40200", "22.24"], ["-1100000", "50.2"]]
    assert "a\t0.0402\t0.00002224\t" in tabs_of(table)
    # A misprint has the mark of its note, which a file for spreadsheets leaves out.
    wrong = Cell("0.0000725", "0.00001", is_misprint=True)
    table = CourseTable("t", ("Size", "Change"), ((Cell("512"), wrong),), ("† Misprint in the paper.",))
    model.show(table)
    assert model.index(0, 1).data() == "0.0000725 †"
    assert "misprint" in model.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert tabs_of(table) == "Size\tChange (paper)\tChange (here)\n512\t0.0000725\t0.00001\n"
    assert "| 512 | 0.0000725 † | 0.00001 |" in markdown_of(PAPER, [table], [])
    # Counts are written alike in a column, and as the paper does.
    for cell, shown in (
        (Cell(here="26214400"), "26,214,400"),
        (Cell(here="1048576 of 2097152"), "1,048,576 of 2,097,152"),
        (Cell("8,192", "8192"), "8,192"),
        (Cell("6553600", "6553600"), "6553600"),
        *((Cell(here=text), text) for text in ("1234.5678", "naive 1024 × 1024", "512")),
    ):
        table = CourseTable("Counts", ("Kernel", "Loads"), ((Cell("naive"), cell),))
        model.show(table)
        assert model.index(0, len(model.columns) - 1).data() == shown
        # A spreadsheet takes digits alone.
        assert cell.here in tabs_of(table)


@pytest.fixture
def panel(show_widget, course):
    return show_widget(TablesPanel(course, make_engine_state()), 900, 400)


COUNTED, MEASURED = made_tables(measured=False), made_tables(measured=True)


def test_that_a_panel_without_a_table_or_a_gpu_says_how_to_fill_it(panel, course, qtbot):
    without = TablesPanel(course, make_engine_state(cuda=False))
    qtbot.addWidget(without)
    assert "counted" in panel.stack.text
    course.know(PAPER.key, problem="The engine cannot count.")
    assert panel.stack.text == "The engine cannot count."
    course.know(PAPER.key, counted=COUNTED)
    assert without.notes.text.startswith("There is no GPU here: ")
    assert "Recorded" not in panel.notes.text


def test_that_a_table_is_filled_by_a_measurement(panel, course):
    course.know(OTHER_PAPER.key, measured=MeasuredPaper(MEASURED), counted=MEASURED)
    assert panel.shown is None
    course.know(PAPER.key, counted=COUNTED)
    assert panel.stack.text == ""
    assert f"– (6 cells): {NOT_MEASURED}" in panel.notes.text
    assert "Times are medians." in panel.notes.text
    panel.choice.setCurrentIndex(1)
    course.know(PAPER.key, measured=MeasuredPaper(MEASURED))
    assert panel.shown.title == "Loads"
    panel.choice.setCurrentIndex(0)
    assert panel.table.cells.index(0, 3).data() == "12.1"
    assert NO_GPU in panel.notes.text
    course.choose(OTHER_PAPER.key)
    assert panel.shown == MEASURED[0]
    course.know(PAPER.key, problem="The disk is full")
    assert course.known(PAPER.key).tables == MEASURED
    course.choose(PAPER.key)
    panel.choice.setCurrentIndex(0)
    QApplication.processEvents()
    assert panel.findChild(FigurePlot).isVisible()
    panel.choice.setCurrentIndex(1)
    assert not panel.findChild(FigurePlot).isVisible()
    panel.copy()
    assert QGuiApplication.clipboard().text().splitlines()[1] == "8\t12\t12"


HERE = "24.9 loads per result with `naive`, 1.55 with `tiled`; the halo is loaded by the block"
ADVICE = Cell("Reduce global memory traffic by copying frequently accessed data to faster memory")
ROWS = (ADVICE, Cell("", HERE)), (Cell("Use many threads"), Cell("", reason="The network comes later."))
GUIDELINES = CourseTable("Guidelines", ("Guideline", "Where `naive` shows it here"), ROWS)


def test_that_measuring_is_offered_for_what_it_can_fill_and_words_are_read_from_the_left(panel, course):
    course.know(PAPER.key, counted=(GUIDELINES, *COUNTED))
    cells = panel.table.cells
    assert cells.index(0, 1).data() == HERE.replace("`", "")
    for item in (cells.index(0, 1), cells.index(0, 0)):
        assert Qt.AlignmentFlag(item.data(Qt.ItemDataRole.TextAlignmentRole)) & Qt.AlignmentFlag.AlignLeft
    assert "The network comes later." in panel.notes.text
    assert "Press Run" not in panel.notes.text
    panel.choice.setCurrentIndex(1)
    assert "Press Run" in panel.notes.text
    course.set_recorded(PAPER.key, made_recorded_paper())
    course.show_recorded(True)
    column = [one.part for one in cells.columns].index(Part.RECORDED)
    assert cells.index(0, column).data() == "20"


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
def code_panel(show_widget, course):
    return show_widget(FunctionPanel(course), 900, 400)


def test_that_a_kernel_is_shown_alone_or_with_the_papers_names_or_the_reason_why_not(code_panel, course):
    assert "looked up" in code_panel.stack.text
    course.know(PAPER.key, code_problem="There is no variant lost.")
    assert code_panel.stack.text == "There is no variant lost."
    code_panel.show_code_of("ConvolutionKernel")
    course.know(PAPER.key, code=made_excerpts())
    assert code_panel.views.left.toPlainText() == "row, column = cuda.grid(2)\nout[row, column] = 1"
    assert "engine/variants/ladder/made.py, lines 40 to 41" in code_panel.where.text()
    assert "i is row, j is column" in code_panel.names.text()
    code_panel.show_code_of("the serial reference")
    assert code_panel.shown.about == "the serial reference"
    assert not code_panel.views.right.isVisible()
    assert not code_panel.names.isVisible()


def test_that_the_lit_lines_of_a_step_stay_until_another_paper_is_chosen(code_panel, course):
    course.know(PAPER.key, counted=(STEPS,))
    code_panel.show_code_of("kernel call")
    course.know(PAPER.key, code=made_excerpts())
    assert code_panel.shown == STEP
    assert code_panel.choice.count() == 1 + len(PAPER.kernels)
    view = code_panel.views.left
    assert list(view.marked) == [150]
    assert 150 in [row for row, _, _ in view.rows_in_sight()]
    course.choose(OTHER_PAPER.key)
    assert code_panel.shown is None
    assert "looked up" in code_panel.stack.text


def test_that_a_click_or_enter_on_a_step_asks_for_its_code(qtbot, show_widget):
    asked, steps_table = [], show_widget(CourseTableView(), 600, 200)
    steps_table.show_table(STEPS)
    steps_table.code_wanted.connect(asked.append)
    index = steps_table.cells.index(1, steps_table.cells.columnCount() - 1)
    assert index.data() == "_enqueue_step"
    assert STEP.where in index.data(Qt.ItemDataRole.ToolTipRole)
    centre = steps_table.visualRect(index).center()
    qtbot.mouseClick(steps_table.viewport(), Qt.MouseButton.LeftButton, pos=centre)
    qtbot.keyClick(steps_table, Qt.Key.Key_Return)
    assert asked == [STEP, STEP]


def test_that_code_is_asked_for_once_or_why_there_is_none_is_said(slow_bench, course):
    bench = slow_bench
    controller = CourseController(course, bench.services, bench.messages)
    controller.look_up_code()
    bench.fake.fail(EngineError("variant 'lost'", "no variant is called that"), CourseCode)
    bench.settle()
    assert "no variant is called that" in course.known(PAPER.key).code_problem
    for _ in range(2):
        controller.look_up_code()
    assert len(bench.fake.waiting(CourseCode)) == 1
    bench.answer_all(CourseCode)
    assert course.known(PAPER.key).code == made_excerpts()
    controller.look_up_code()
    assert bench.fake.waiting(CourseCode) == []
