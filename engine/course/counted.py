"""A paper's tables at once: what is printed and what is counted. No device is asked."""

from engine.course.paper import CourseTable
from engine.course.runs import Results
from engine.course.tables import tables_module


def counted_tables(paper_key: str) -> tuple[CourseTable, ...]:
    """Return every table of a paper; the cells of what has to be measured say so.

    Raises
    ------
    UnknownName
        No paper is called so.
    """
    return tables_module(paper_key).tables(Results({}), None)
