"""Our code beside a paper's: the places that do what a row is about, and its kernels."""

import ast

from engine.course.files import csv_of, excerpt_lines, markdown_of
from engine.course.papers import PAPERS, TABLE_TEXTS, paper
from engine.course.tables import counted_tables, kernels_of

PERFORMANCE = paper("performance")
KERNELS = [kernel for one in PAPERS for kernel in one.kernels]


def table(title):
    return next(one for one in counted_tables("performance") if one.title == title)


def test_that_each_row_of_a_summary_names_the_lines_of_ours_that_do_it():
    for text in (one for one in TABLE_TEXTS[PERFORMANCE] if one.code):
        found = table(text.title)
        assert set(text.code) == {row[0].printed for row in found.rows}
        for row, excerpts in zip(found.rows, found.excerpts, strict=True):
            for place, excerpt in zip(text.code[row[0].printed], excerpts, strict=True):
                lit = [excerpt.function.lines[at] for at in excerpt.lit]
                assert [one for one in place.lit if not any(one in line for line in lit)] == [], place
                assert excerpt.where in row[-1].here


def test_that_what_is_offered_of_a_paper_has_names_of_its_own():
    for one in PAPERS:
        of_tables = [excerpt for each in counted_tables(one.key) for row in each.excerpts for excerpt in row]
        assert all(map(kernels_of, one.kernels))
        excerpts = [*(excerpt for kernel in one.kernels for excerpt in kernels_of(kernel)), *of_tables]
        labels = [(excerpt.about, excerpt.code) for excerpt in excerpts]
        assert len(set(labels)) == len(labels)


def identifiers(lines):
    tree = ast.parse("\n".join(lines))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return names | arguments | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_that_every_kernel_of_a_paper_has_code_and_its_names_stand_for_one_of_ours_each():
    assert all(map(kernels_of, KERNELS))
    for kernel in (one for one in KERNELS if one.names):
        (excerpt,) = kernels_of(kernel)
        ours = identifiers(excerpt.function.lines)
        assert set(kernel.names) <= ours
        assert len(set(kernel.names.values())) == len(kernel.names)
        # Else two things would have one name.
        assert not set(kernel.names.values()) & (ours - set(kernel.names))


def test_that_excerpts_are_printed_with_file_and_lines_below_their_table():
    found = table("Typical structure of a CUDA program")
    text = markdown_of(PERFORMANCE, [found], [])
    for excerpt in (one for row in found.excerpts for one in row):
        shown = excerpt_lines(excerpt)
        assert excerpt.function.path in text
        assert "\n".join(shown) in text
        lit = [line for line in shown if ">" in line[:8]]
        first = excerpt.function.first_line
        assert [int(line.split()[0]) for line in lit] == [first + at for at in excerpt.lit]
    assert "engine/device/cuda.py, line" in csv_of(PERFORMANCE, found, [])
