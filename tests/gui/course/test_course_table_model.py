import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.course.paper import Cell, CourseTable
from gui.course.course_table_model import IS_QUIET_ROLE, CourseTableModel, Side, columns_of, reasons_of
from gui.course.course_text import to_tabs
from tests.gui.made_course import NO_GPU, made_tables

TIMES, LOADS = made_tables(measured=True)


@pytest.fixture
def model(qtbot):
    model = CourseTableModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show(TIMES)
    return model


def test_that_figures_of_this_machine_stand_beside_the_printed_ones(model):
    assert [(column.heading, column.side) for column in model.columns] == [
        (0, Side.NAME),
        (1, Side.NAME),
        (2, Side.PRINTED),
        (2, Side.HERE),
        (3, Side.PRINTED),
        (3, Side.HERE),
    ]
    assert [model.index(0, column).data() for column in range(6)] == [
        "512x512",
        "16",
        "0.0185",
        "0.0121",
        "0.0004",
        "–",
    ]
    assert [model.index(0, column).data(IS_QUIET_ROLE) for column in range(6)] == [
        False,
        False,
        True,
        False,
        True,
        True,
    ]


def test_that_a_column_that_the_paper_does_not_have_is_no_pair():
    table = CourseTable("t", ("Size", "GFLOPs"), ((Cell("512"), Cell("", "50")),))
    assert [column.side for column in columns_of(table)] == [Side.NAME, Side.HERE]


def test_that_a_printed_column_after_the_figures_is_the_papers():
    table = CourseTable("t", ("Size", "Here", "Paper only"), ((Cell("1"), Cell("2", "3"), Cell("4")),))
    assert [column.side for column in columns_of(table)] == [Side.NAME, Side.PRINTED, Side.HERE, Side.PRINTED]


def test_that_an_empty_cell_says_why(model):
    tooltip = model.index(1, 5).data(Qt.ItemDataRole.ToolTipRole)
    assert tooltip == f"Time naïve (s), 1024x1024, 16: empty. {NO_GPU}"
    assert model.index(1, 5).data(Qt.ItemDataRole.AccessibleTextRole) == tooltip


def test_that_each_reason_is_told_once_with_its_number_of_cells():
    assert reasons_of(TIMES) == (f"– (3 cells): {NO_GPU}",)
    assert reasons_of(LOADS) == ()


def test_that_a_table_is_text_with_tabs_for_a_spreadsheet():
    assert to_tabs(LOADS) == "Tile\tLoads (paper)\tLoads (here)\n8\t12\t12\n16\t\t20\n"


def test_that_no_table_is_no_rows(model):
    model.show(None)
    assert (model.rowCount(), model.columnCount()) == (0, 0)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (Cell(here="26214400"), "26,214,400"),
        (Cell(here="1048576 of 2097152"), "1,048,576 of 2,097,152"),
        (Cell("8,192", "8192"), "8,192"),
        (Cell("6553600", "6553600"), "6553600"),
        (Cell(here="1234.5678"), "1234.5678"),
        (Cell(here="naive 1024 x 1024"), "naive 1024 x 1024"),
        (Cell(here="512"), "512"),
    ],
)
def test_that_big_counts_can_be_read_and_are_written_as_the_paper_does(model, cell, shown):
    table = CourseTable("Counts", ("Kernel", "Loads"), ((Cell("naive"), cell),))
    model.show(table)
    assert model.index(0, len(model.columns) - 1).data() == shown
    # A spreadsheet takes digits alone.
    assert cell.here in to_tabs(table)
