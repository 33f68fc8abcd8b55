import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest

from engine.course.cells import significant
from engine.course.figures import svg_of
from engine.course.files import write_paper
from engine.course.markdown import markdown_of
from engine.course.paper import Cell, CourseTable, Figure, Series
from engine.course.papers import PAPERS, paper
from engine.course.sheet import csv_of, sheet_of
from engine.course.tables import counted_tables
from engine.errors import FileWriteError
from engine.files.output_checks import make_folder

LAB, REPORT = paper("lab"), paper("report")
MACHINE = (("CPU", "a model, 2 cores"), ("CUDA device", "none: no driver"), ("Commit", "abc1234"))
SVG = "{http://www.w3.org/2000/svg}"

TABLE = CourseTable(
    "A table",
    ("Name", "Value", "More"),
    (
        (Cell("a | b"), Cell("-0.5", "-0.25"), Cell("", "7")),
        (Cell("=1+1"), Cell("", "", "no device"), Cell("", "", "no device")),
    ),
    ("a note",),
)


def rows_of(text):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    head = [row for row in rows if row[0].startswith("# ")]
    return head, rows[len(head) :]


def test_that_numbers_have_four_digits_and_no_powers():
    values = (0, 1, 0.0001296, -2.604166e-6, 50.80310, 12.0)
    assert [significant(value) for value in values] == ["0", "1", "0.0001296", "-0.000002604", "50.8", "12"]


def test_that_a_column_stands_beside_that_of_the_paper_where_it_has_one():
    sheet = sheet_of(TABLE)
    titles = ["Name", "Value (paper)", "Value (here)", "More (here)"]
    assert [column.title for column in sheet.columns] == titles
    assert sheet.rows == (("a | b", "-0.5", "-0.25", "7"), ("=1+1", "", "(1)", "(1)"))
    assert (sheet.reasons, sheet.numbers) == (("no device",), {1, 2, 3})


def test_that_the_markdown_has_the_papers_headings_kernels_machine_and_reasons():
    text = markdown_of(REPORT, counted_tables("report"), MACHINE)
    lines = text.splitlines()
    assert lines[0] == "# CUDA Assignment 3: 2D Convolution"
    assert [line[3:] for line in lines if line.startswith("## ")] == ["Which kernel is which", *REPORT.tables]
    headings = "Matrix Size", "Time naïve (s) (paper)", "Speedup Optimized (here)", "# FP operations (here)"
    for heading in headings:
        assert f"| {heading} |" in text
    assert "- CUDA device: none: no driver" in lines
    assert "- Commit: abc1234" in lines
    assert any(line.startswith("| ConvolutionKernel\\_optimized |") and "`cached`" in line for line in lines)
    assert "(1) not measured yet  " in lines
    assert "| 512x512 | 8 | 0.018511 | (1) | 0.000402 | (1) |" in text


def test_that_every_line_of_a_markdown_table_has_as_many_cells():
    for one in PAPERS:
        text = markdown_of(one, counted_tables(one.key), MACHINE)
        for block in text.split("\n\n"):
            lines = [line.replace(r"\|", "") for line in block.splitlines() if line.startswith("|")]
            assert len({line.count("|") for line in lines}) <= 1, lines


def test_that_csv_has_the_machine_at_its_head_and_no_formulas_and_numbers_stay_numbers():
    head, rows = rows_of(csv_of(LAB, TABLE, MACHINE))
    assert head[0] == ["# Paper", LAB.citation]
    assert head[1:] == [
        ["# Table", "A table"],
        *([f"# {name}", value] for name, value in MACHINE),
        ["# Note", "a note"],
    ]
    assert rows == [
        ["Name", "Value (paper)", "Value (here)", "More (here)", "why a cell is empty"],
        ["a | b", "-0.5", "-0.25", "7", ""],
        ["'=1+1", "", "", "", "no device"],
    ]


def texts_of(svg):
    return [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_that_a_figure_has_its_words_as_text_the_papers_curve_apart_and_says_when_it_is_empty():
    here = Series("L0", (256.0, 512.0), (3.0, None), "separable-l0")
    printed = Series("L0", (256.0, 512.0), (24.0, 33.0))
    figure = Figure("Speed-up", "size", "times", (here,), (printed,), log_y=True)
    svg = svg_of(figure)
    assert {"Speed-up", "size", "times", "L0", "L0 (paper)"} <= set(texts_of(svg))
    assert "#0072b2" in svg.decode()
    assert "<dc:date>" not in svg.decode()
    assert svg_of(figure) == svg
    empty = Figure("Empty", "x", "y", (Series("a", (1.0,), (None,)),))
    assert "nothing was measured" in texts_of(svg_of(empty))


def test_that_a_papers_files_are_all_written_and_belong_together(tmp_path):
    tables = counted_tables("lab")
    names = write_paper(str(tmp_path), LAB, tables, MACHINE)
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    files = "table-1.csv", "table-2.csv", "figure-1.svg", "figure-2.svg"
    assert set(names) == {"lab.md", *(f"lab-{name}" for name in files)}
    text = (tmp_path / "lab.md").read_text(encoding="utf-8")
    assert "![Execution Time vs. Image Size](lab-figure-1.svg)" in text
    assert "![Speed-Up vs. Image Size per Level](lab-figure-2.svg)" in text
    assert "L0 (paper)" in texts_of((tmp_path / "lab-figure-2.svg").read_bytes())


def test_that_a_folder_is_made_or_refused_in_words(tmp_path):
    make_folder(str(tmp_path / "new"))
    make_folder(str(tmp_path / "new"))
    assert (tmp_path / "new").is_dir()
    (tmp_path / "file").write_text("")
    refusals = {"file": "has its name", "a/b": "its folder does not exist", "a\0b": "not a possible path"}
    for name, why in refusals.items():
        with pytest.raises(FileWriteError, match=why):
            make_folder(str(tmp_path / name))
