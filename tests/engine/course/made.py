"""Runs as a device might have answered them, so that the tables' arithmetic is tested without one."""

from engine.course.runs import Measured, Results
from engine.course.sheet import Part, columns_of
from engine.course.tables import tables_module

FAULT = Measured(reason="no such luck")


def tables_from(paper_key, values_of, sizes=None):
    """Return a paper's tables with the values that `values_of` gives for each run; None is a failure."""
    module = tables_module(paper_key)
    found = {run: values_of(run) for run in module.runs(sizes)}
    done = {run: FAULT if values is None else Measured(values) for run, values in found.items()}
    return module.tables(Results(done), sizes)


def rows_of(table):
    """Return the rows by the texts that name them, without the cells that name them."""
    names = sum(column.part is Part.NAME for column in columns_of(table))
    return {tuple(cell.printed for cell in row[:names]): row[names:] for row in table.rows}


def here(table):
    """Return the texts of this machine's cells, one list per row."""
    return [[cell.here or cell.reason for cell in cells] for cells in rows_of(table).values()]
