import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.course.paper import Cell, CourseTable
from engine.course.sheet import Part, columns_of, tabs_of
from gui.course.course_table_model import IS_QUIET_ROLE, CourseTableModel, reasons_of
from tests.gui.made_course import NO_GPU, made_tables

TIMES, LOADS = made_tables(measured=True)


@pytest.fixture
def model(qtbot):
    model = CourseTableModel()
    model.tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show(TIMES)
    return model


def test_that_figures_of_this_machine_stand_beside_the_printed_ones(model):
    pair = [Part.PAPER, Part.HERE]
    assert [column.part for column in model.columns] == [Part.NAME, Part.NAME, *pair, *pair]
    assert [column.position for column in model.columns] == [0, 1, 2, 2, 3, 3]
    cells = [model.index(0, column) for column in range(6)]
    assert [cell.data() for cell in cells] == ["512x512", "16", "0.0185", "0.0121", "0.0004", "–"]
    assert [cell.data(IS_QUIET_ROLE) for cell in cells] == [False, False, True, False, True, True]
    model.show(None)
    assert (model.rowCount(), model.columnCount()) == (0, 0)


def test_that_what_only_one_side_has_is_no_pair():
    row = (Cell("512"), Cell("", "50"), Cell("4"))
    table = CourseTable("t", ("Size", "GFLOPs", "Paper only"), (row,))
    assert [column.part for column in columns_of(table)] == [Part.NAME, Part.HERE, Part.PAPER]


def test_that_a_cell_says_what_it_is_and_why_it_is_empty_and_each_reason_is_counted(model):
    tips = [model.index(1, column).data(Qt.ItemDataRole.ToolTipRole) for column in range(6)]
    where = "Time {} (s), 1024x1024, 16: "
    assert tips[2:] == [
        where.format("serial") + "the paper printed 0.0185.",
        where.format("serial") + "0.0121 on this machine.",
        where.format("naïve") + "the paper printed 0.0004.",
        where.format("naïve") + f"empty. {NO_GPU}",
    ]
    assert model.index(1, 5).data(Qt.ItemDataRole.AccessibleTextRole) == tips[5]
    assert reasons_of(TIMES) == (f"– (3 cells): {NO_GPU}",)
    assert reasons_of(LOADS) == ()


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
    assert cell.here in tabs_of(table)


def test_that_a_table_is_text_with_tabs_for_a_spreadsheet():
    assert tabs_of(LOADS) == "Tile\tLoads (paper)\tLoads (here)\n8\t12\t12\n16\t\t20\n"
