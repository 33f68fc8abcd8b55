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


def test_that_a_panel_without_a_table_says_what_will_be_there_and_how_to_fill_it(panel, course, state, qtbot):
    empty = TablesPanel(CourseModel(read_papers=lambda: PAPERS), state)
    qtbot.addWidget(empty)
    assert "Choose a paper" in empty.words
    assert not empty.measure.isEnabled()
    assert "counted" in panel.words
    course.set_problem(PAPER.key, "The engine cannot count.")
    assert panel.words == "The engine cannot count."
    assert not panel.save_button.isEnabled()


def test_that_counted_tables_appear_with_the_reasons_of_what_is_missing(panel, course):
    course.set_counted(PAPER.key, made_tables(measured=False))
    assert panel.words == ""
    assert [panel.choice.itemText(at) for at in range(panel.choice.count())] == list(PAPER.tables)
    assert f"– (6 cells): {NOT_MEASURED}" in panel.notes.text
    assert "Times are medians." in panel.notes.text


def test_that_measured_figures_come_into_the_table_that_is_shown(panel, course):
    course.set_counted(PAPER.key, made_tables(measured=False))
    panel.choice.setCurrentIndex(1)
    assert panel.shown.title == "Loads"
    course.set_measured(PAPER.key, made_tables(measured=True))
    assert panel.shown.title == "Loads"
    panel.choice.setCurrentIndex(0)
    assert panel.table.cells.index(0, 3).data() == "0.0121"
    assert NO_GPU in panel.notes.text
    assert panel.measure.text() == "Measure again"


def test_that_tables_of_another_paper_leave_the_one_that_is_shown(panel, course):
    course.set_measured(OTHER_PAPER.key, made_tables(measured=True))
    assert panel.shown is None
    course.choose(OTHER_PAPER.key)
    assert panel.shown == made_tables(measured=True)[0]


def test_that_a_figure_is_there_only_beside_the_table_that_has_one(panel, course):
    course.set_counted(PAPER.key, made_tables(measured=False))
    QApplication.processEvents()
    assert panel.findChild(FigurePlot).isVisible()
    panel.choice.setCurrentIndex(1)
    assert not panel.findChild(FigurePlot).isVisible()


def test_that_a_table_is_copied_for_a_document_and_for_a_spreadsheet(panel, course):
    course.set_counted(PAPER.key, made_tables(measured=False))
    panel.choice.setCurrentIndex(1)
    markdown, tabs = panel.copy_button.menu().actions()
    told = []
    panel.copied.connect(told.append)
    tabs.trigger()
    assert QGuiApplication.clipboard().text().splitlines()[1] == "8\t12\t12"
    markdown.trigger()
    assert "| 8 |" in QGuiApplication.clipboard().text()
    assert told == [len(panel.shown.rows)] * 2


def test_that_the_button_says_why_it_cannot_be_pressed(panel, course, state):
    assert panel.measure.isEnabled()
    state.set_running(True)
    assert not panel.measure.isEnabled()
    assert "a run goes on" in panel.measure.toolTip()
    state.set_running(False)
    state.set_status(STARTING)
    assert "starting" in panel.measure.toolTip()


GUIDELINES = CourseTable(
    "Guidelines",
    ("Guideline", "Where it is seen here"),
    (
        (
            Cell("Reduce global memory traffic by copying frequently accessed data to faster memory"),
            Cell("", "24.9 loads a result with `naive`, 1.55 with `tiled`; the halo is loaded by the block"),
        ),
        (Cell("Use many threads"), Cell("", reason="The network comes later.")),
    ),
)


def test_that_sentences_are_wrapped_from_the_left_and_not_cut(panel, course, qtbot):
    course.set_counted(PAPER.key, (GUIDELINES,))
    table = panel.table
    assert table.width_of_columns <= table.viewport().width()
    assert table.rowHeight(0) > table.rowHeight(1)
    words = table.cells.index(0, 1)
    assert words.data() == GUIDELINES.rows[0][1].here.replace("`", "")
    for item in (words, table.cells.index(0, 0)):
        assert Qt.AlignmentFlag(item.data(Qt.ItemDataRole.TextAlignmentRole)) & Qt.AlignmentFlag.AlignLeft
    panel.resize(2400, 400)
    qtbot.waitUntil(lambda: table.rowHeight(0) == table.rowHeight(1))


def test_that_measuring_is_offered_only_for_cells_that_it_can_fill(panel, course):
    course.set_counted(PAPER.key, (GUIDELINES, *made_tables(measured=False)))
    assert "The network comes later." in panel.notes.text
    assert "Press Measure" not in panel.notes.text
    panel.choice.setCurrentIndex(1)
    assert "Press Measure" in panel.notes.text
