"""`course`: the course papers, which kernel of theirs is which here, and their tables for this machine."""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from engine.commands import BAD_INPUT, DONE, NOT_VERIFIED
from engine.commands.arguments import Parser, number, several, whole
from engine.commands.interrupt import report_interrupt
from engine.commands.output import say, say_json, table, tell
from engine.course.bench import machine_lines
from engine.course.files import make_folder, write_paper
from engine.course.measure import BUDGET_S, MAX_SIDE, check_device, tables_of
from engine.course.paper import CourseTable, Paper
from engine.course.papers import PAPERS, paper
from engine.course.sheet import sheet_of
from engine.errors import FileWriteError
from engine.files.output_checks import check_place

FORMAT, VERSION = "haloscope-course", 1

_EXAMPLES = (
    "",
    "report",
    "lab --out tables",
    "--out tables",
    "report --sizes 512,1024 --device cpu --json",
)


def run(arguments: list[str]) -> int:
    """List the papers, or measure and print the tables of one or of all; return the exit status."""
    options = _parser().read(arguments)
    if options is None:
        return DONE
    if options.paper is None and options.out is None:
        _list(options)
        return DONE
    chosen = PAPERS if options.paper is None else (options.paper,)
    _check(options, chosen)
    machine = machine_lines(options.device)
    answers: list[tuple[Paper, tuple[CourseTable, ...]]] = []
    not_written: list[FileWriteError] = []
    with report_interrupt([], lambda: f"{len(answers)} of {len(chosen)} papers done"):
        for one in chosen:
            tables = tables_of(
                one.key,
                options.device,
                sizes=options.sizes,
                budget_s=options.budget,
                on_progress=_show_progress(one),
            )
            if options.out is not None:
                try:
                    for name in write_paper(options.out, one, tables, machine):
                        tell(f"written: {os.path.join(options.out, name)}")
                except FileWriteError as error:
                    # What was measured is printed all the same, and the next paper's files may find room.
                    not_written.append(error)
            if not options.json:
                say(_text(one, tables, machine))
            answers.append((one, tables))
    if options.json:
        say_json(_document([_entry(*answer) for answer in answers], dict(machine)))
    cells = (cell for _, tables in answers for each in tables for row in each.rows for cell in row)
    for unwritten in not_written:
        tell(str(unwritten))
    if any(cell.not_verified for cell in cells):
        return NOT_VERIFIED
    return BAD_INPUT if not_written else DONE


def _parser() -> Parser:
    parser = Parser(
        "course",
        "Without a paper it lists them. With one it measures what the paper's tables need, each result verified first, "
        "and prints this machine's figures beside the printed ones; without a GPU their cells say why they are empty.",
        _EXAMPLES,
    )
    add = parser.add_argument
    keys = ", ".join(known.key for known in PAPERS)
    add("paper", nargs="?", type=paper, metavar="PAPER", help=f"one of {keys}")
    add("--out", metavar="folder", help="write Markdown, CSV and SVG there; without a paper, of all papers")
    add("--device", default="auto", metavar="auto", help="for the CUDA kernels (`devices` lists them)")
    add(
        "--sizes",
        type=several("--sizes", whole("--sizes", 1, MAX_SIDE)),
        metavar="512,1024",
        help="sides of pictures and matrices instead of the paper's own, for slow machines",
    )
    add(
        "--budget",
        type=number("--budget", 0.0, 3600.0),
        default=BUDGET_S,
        metavar="SECONDS",
        help=f"for the samples of each cell (default {BUDGET_S})",
    )
    return parser


def _check(options: argparse.Namespace, chosen: Sequence[Paper]) -> None:
    """Refuse before the work what would be refused after it."""
    check_device(options.device)
    if options.out is not None:
        make_folder(options.out)
        for one in chosen:
            check_place(os.path.join(options.out, f"{one.key}.md"))


def _show_progress(one: Paper) -> Callable[[str, float, float], None]:
    """Return what prints a line for each cell that begins."""
    last = ""

    def show(text: str, fraction: float, expected_s: float) -> None:
        nonlocal last
        if text != last:
            last = text
            tell(f"[{one.key} {fraction:3.0%}] {text}")

    return show


def _list(options: argparse.Namespace) -> None:
    if options.json:
        say_json(_document([asdict(one) for one in PAPERS], {}))
        return
    parts = []
    for one in PAPERS:
        rows = [(f"  {kernel.name}", kernel.here.variant, kernel.place) for kernel in one.kernels]
        parts.append(f"{one.key}: {one.citation}")
        parts.append(table(("  in the paper", "here", "where"), rows) + "\n")
    parts.append("`python main.py course PAPER` measures a paper's tables on this machine.")
    say("\n".join(parts))


def _text(one: Paper, tables: Sequence[CourseTable], machine: Sequence[tuple[str, str]]) -> str:
    lines = [one.citation]
    lines += [f"{name}: {value}" for name, value in machine]
    for each in tables:
        lines += ["", each.title, _aligned(each)]
    return "\n".join(lines) + "\n"


def _aligned(each: CourseTable) -> str:
    """Return a table with a heading over each pair of columns, its reasons and its notes."""
    sheet = sheet_of(each)
    headings = [
        "" if place and column.heading == sheet.columns[place - 1].heading else column.heading
        for place, column in enumerate(sheet.columns)
    ]
    rows = [[column.part for column in sheet.columns], *sheet.rows]
    lines = [table(headings, rows, right=sorted(sheet.numbers))]
    lines += [f"({place}) {reason}" for place, reason in enumerate(sheet.reasons, start=1)]
    lines += [f"- {note}" for note in each.notes]
    return "\n".join(lines)


def _entry(one: Paper, tables: Sequence[CourseTable]) -> dict[str, Any]:
    return asdict(one) | {"tables": [asdict(each) for each in tables]}


def _document(papers: list[dict[str, Any]], machine: dict[str, str]) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "machine": machine, "papers": papers}
