import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from engine.course.paper import Cell, CourseTable
from gui.course.course_model import CourseModel
from gui.course.tables_panel import TablesPanel
from gui.engine_link.engine_state import STARTING
from gui.plots.figure_plot import FigurePlot
from tests.gui.made_course import NO_GPU, NOT_MEASURED, OTHER_PAPER, PAPER, PAPERS, made_tables
from tests.gui.made_results import make_engine_state


@pytest.fixture
def state(qtbot):
    return make_engine_state()


@pytest.fixture
def panel(qtbot, course, state):
    panel = TablesPanel(course, state)
    qtbot.addWidget(panel)
    panel.resize(900, 400)
    panel.show()
    return panel


COUNTED, MEASURED = made_tables(measured=False), made_tables(measured=True)


def test_that_a_panel_without_a_table_says_what_will_be_there_and_how_to_fill_it(panel, course, state, qtbot):
    empty = TablesPanel(CourseModel(PAPERS), state)
    qtbot.addWidget(empty)
    assert "Choose a paper" in empty.words
    assert not empty.measure.isEnabled()
    assert "counted" in panel.words
    course.set_problem(PAPER.key, "The engine cannot count.")
    assert panel.words == "The engine cannot count."
    assert not panel.save_button.isEnabled()


def test_that_counted_tables_appear_with_reasons_and_measured_figures_come_into_the_one_that_is_shown(
    panel, course
):
    course.set_measured(OTHER_PAPER.key, MEASURED)
    assert panel.shown is None
    course.set_counted(PAPER.key, COUNTED)
    assert panel.words == ""
    assert [panel.choice.itemText(at) for at in range(panel.choice.count())] == list(PAPER.tables)
    assert f"– (6 cells): {NOT_MEASURED}" in panel.notes.text
    assert "Times are medians." in panel.notes.text
    panel.choice.setCurrentIndex(1)
    course.set_measured(PAPER.key, MEASURED)
    assert panel.shown.title == "Loads"
    panel.choice.setCurrentIndex(0)
    assert panel.table.cells.index(0, 3).data() == "0.0121"
    assert NO_GPU in panel.notes.text
    assert panel.measure.text() == "Measure again"
    course.choose(OTHER_PAPER.key)
    assert panel.shown == MEASURED[0]
    course.set_problem(PAPER.key, "The disk is full")
    assert course.known(PAPER.key).tables == MEASURED


def test_that_a_figure_stands_beside_its_table_only_and_a_table_is_copied_as_markdown_or_tabs(panel, course):
    course.set_counted(PAPER.key, COUNTED)
    QApplication.processEvents()
    assert panel.findChild(FigurePlot).isVisible()
    panel.choice.setCurrentIndex(1)
    assert not panel.findChild(FigurePlot).isVisible()
    copied, texts = [], []
    panel.copied.connect(copied.append)
    for action in panel.copy_button.menu().actions():
        action.trigger()
        texts.append(QGuiApplication.clipboard().text())
    assert "| 8 |" in texts[0]
    assert texts[1].splitlines()[1] == "8\t12\t12"
    assert copied == [len(panel.shown.rows)] * 2


def test_that_the_button_says_why_it_cannot_be_pressed(panel, course, state):
    assert panel.measure.isEnabled()
    state.set_running(True)
    assert not panel.measure.isEnabled()
    assert "a run is in progress" in panel.measure.toolTip()
    state.set_running(False)
    state.set_status(STARTING)
    assert "starting" in panel.measure.toolTip()


HERE = "24.9 loads per result with `naive`, 1.55 with `tiled`; the halo is loaded by the block"
ADVICE = Cell("Reduce global memory traffic by copying frequently accessed data to faster memory")
ROWS = (ADVICE, Cell("", HERE)), (Cell("Use many threads"), Cell("", reason="The network comes later."))
GUIDELINES = CourseTable("Guidelines", ("Guideline", "Where it is seen here"), ROWS)


def test_that_sentences_are_wrapped_from_the_left_and_not_cut(panel, course, qtbot):
    course.set_counted(PAPER.key, (GUIDELINES,))
    table = panel.table
    assert table.width_of_columns <= table.viewport().width()
    assert table.rowHeight(0) > table.rowHeight(1)
    words = table.cells.index(0, 1)
    assert words.data() == HERE.replace("`", "")
    for item in (words, table.cells.index(0, 0)):
        assert Qt.AlignmentFlag(item.data(Qt.ItemDataRole.TextAlignmentRole)) & Qt.AlignmentFlag.AlignLeft
    panel.resize(2400, 400)
    qtbot.waitUntil(lambda: table.rowHeight(0) == table.rowHeight(1))


def test_that_measuring_is_offered_only_for_cells_that_it_can_fill(panel, course):
    course.set_counted(PAPER.key, (GUIDELINES, *COUNTED))
    assert "The network comes later." in panel.notes.text
    assert "Press Measure" not in panel.notes.text
    panel.choice.setCurrentIndex(1)
    assert "Press Measure" in panel.notes.text
