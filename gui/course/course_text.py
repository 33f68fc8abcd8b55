"""A paper's table for the clipboard: as Markdown, and as lines with tabs, as a spreadsheet takes them."""

from engine.course.markdown import markdown_of_table
from engine.course.paper import CourseTable
from engine.course.sheet import sheet_of
from engine.results.spreadsheet import harmless


def to_markdown(table: CourseTable) -> str:
    """Return the table with its reasons and notes, as the saved files have it."""
    return markdown_of_table(table)


def to_tabs(table: CourseTable) -> str:
    """Return the table as lines with tabs: under each heading the paper's figures and this machine's."""
    sheet = sheet_of(table, with_marks=False)
    lines = [[column.title for column in sheet.columns], *sheet.rows]
    return "".join("\t".join(str(harmless(" ".join(text.split()))) for text in line) + "\n" for line in lines)
