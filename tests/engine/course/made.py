"""Runs as a device might have answered them, so that the tables' arithmetic is tested without one."""

from engine.course.runs import Measured, Results, Run
from engine.course.tables import tables_module

FAULT = Measured(reason="no such luck")


def tables_from(paper_key, values_of, sizes=None):
    """Return a paper's tables with the values that `values_of` gives for each run; None is a failure."""
    module = tables_module(paper_key)
    done: dict[Run, Measured] = {}
    for run in module.runs(sizes):
        values = values_of(run)
        done[run] = FAULT if values is None else Measured(values)
    return module.tables(Results(done), sizes)


def here(table):
    """Return the texts of this machine's cells, a list a row, without the cells that name it."""
    names = next(
        place
        for place in range(len(table.headings))
        if any(row[place].here or row[place].reason for row in table.rows)
    )
    return [[cell.here or cell.reason for cell in row[names:]] for row in table.rows]
