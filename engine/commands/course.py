"""`course`: the course papers, which kernel of theirs is which here, and their tables for this machine."""

import itertools
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from engine.commands import BAD_INPUT, DONE, NOT_VERIFIED
from engine.commands.arguments import Settings, number, option, refuse_used, several, whole
from engine.commands.output import log, print_answer, print_one, report_interrupt, table
from engine.course.bench import BUDGET_S, MAX_SIDE, check_device, machine_lines, measured_paper
from engine.course.files import check_figures, excerpt_lines, sheet_of, write_paper
from engine.course.paper import CourseTable, Paper
from engine.course.papers import PAPERS, beside, paper, recorded_paper
from engine.course.tables import counted_tables
from engine.device_info import AUTO
from engine.errors import FileWriteError
from engine.files.atomic_write import check_place, make_folder
from engine.results.problem import Checkpoint, Progress

FORMAT, VERSION = "haloscope-course", 1


@dataclass(frozen=True, kw_only=True)
class CourseSettings(Settings):
    """What `course` takes."""

    about = (
        "Without a paper it lists them. With one it measures what the paper's tables need, each result "
        "verified first, and prints this machine's figures beside the printed ones; without a GPU their "
        "cells say why they are empty."
    )
    examples = "", "report", "lab --out tables", "--out tables", "report --sizes 512,1024 --device cpu --json"

    paper: Paper | None = option(f"PAPER  one of {', '.join(known.key for known in PAPERS)}", None, paper)
    out: str | None = option(
        "--out FOLDER  write Markdown, CSV and SVG there; without a paper, of all papers", None
    )
    device: str = option("--device KEY  for the CUDA kernels (`devices` lists them; default auto)", AUTO)
    sizes: tuple[int, ...] | None = option(
        "--sizes 512,1024  sides of pictures and matrices instead of the paper's own, for slow machines",
        None,
        several("--sizes", whole("--sizes", 1, MAX_SIDE)),
    )
    recorded: bool = option(
        "--recorded  a third column with what a GPU of another machine measured, marked as recorded", False
    )
    budget: float = option(
        f"--budget SECONDS  for the samples of each cell (default {BUDGET_S})",
        BUDGET_S,
        number("--budget", 0.0, 3600.0),
    )

    def __post_init__(self) -> None:
        """Refuse options of a measurement where the papers are only listed."""
        if self.paper is None and self.out is None:
            remedy = "Name a paper, or --out FOLDER for all of them."
            why = "the papers are listed, not measured"
            refuse_used(self, ("device", "sizes", "budget", "recorded"), "without a paper", why, remedy)


def run(settings: CourseSettings) -> int:
    """List the papers, or measure and print the tables of one or of all; return the exit status."""
    if settings.paper is None and settings.out is None:
        parts = []
        for one in PAPERS:
            rows = [(f"  {kernel.name}", kernel.variant, kernel.place) for kernel in one.kernels]
            parts += [f"{one.key}: {one.citation}", table(("  in the paper", "here", "where"), rows) + "\n"]
        parts.append("`python main.py course PAPER` measures a paper's tables on this machine.")
        print_one(settings.json, _document([_paper(one) for one in PAPERS], {}), "\n".join(parts))
        return DONE
    chosen = PAPERS if settings.paper is None else (settings.paper,)
    check_device(settings.device)
    if settings.out is not None:
        for one in chosen:
            check_figures(counted_tables(one.key))
        make_folder(settings.out)
        for one in chosen:
            check_place(os.path.join(settings.out, f"{one.key}.md"))
    machine = machine_lines(settings.device)
    answers: list[tuple[Paper, tuple[CourseTable, ...]]] = []
    errors: list[FileWriteError] = []
    with report_interrupt([], lambda: f"{len(answers)} of {len(chosen)} papers done"):
        for one in chosen:
            measured = partial(measured_paper, sizes=settings.sizes, budget_s=settings.budget)
            tables = measured(one.key, settings.device, checkpoint=_log_progress(one)).tables
            if settings.recorded and (recorded := recorded_paper(one.key)):
                tables = tuple(beside(table, recorded) for table in tables)
            if settings.out is not None:
                try:
                    for name in write_paper(settings.out, one, tables, machine):
                        log(f"written: {os.path.join(settings.out, name)}")
                except FileWriteError as error:
                    # What was measured is printed all the same, and the next paper's files may find room.
                    errors.append(error)
            if not settings.json:
                print_answer(_text(one, tables, machine))
            answers.append((one, tables))
    if settings.json:
        papers = [_paper(one) | {"tables": [asdict(each) for each in tables]} for one, tables in answers]
        print_one(True, _document(papers, dict(machine)), "")
    for unwritten in errors:
        log(str(unwritten))
    cells = (cell for _, tables in answers for each in tables for row in each.rows for cell in row)
    if any(cell.not_verified for cell in cells):
        return NOT_VERIFIED
    return BAD_INPUT if errors else DONE


def _log_progress(one: Paper) -> Checkpoint:
    """Return a function that prints a line for each cell that begins."""
    last = ""

    def show(step: Progress) -> None:
        nonlocal last
        if step.stage != last:
            last = step.stage
            log(f"[{one.key} {step.fraction:3.0%}] {last}")

    return show


def _text(one: Paper, tables: Sequence[CourseTable], machine: Sequence[tuple[str, str]]) -> str:
    lines = [one.citation, *(f"{name}: {value}" for name, value in machine)]
    for each in tables:
        lines += ["", each.title, _aligned(each)]
        for excerpt in itertools.chain.from_iterable(each.excerpts):
            lines += ["", f"{excerpt.about}: {excerpt.code}, {excerpt.where}", *excerpt_lines(excerpt)]
    return "\n".join(lines) + "\n"


def _aligned(each: CourseTable) -> str:
    """Return a table with a heading over each pair of columns, its reasons and its notes."""
    sheet = sheet_of(each)
    headings = [column.heading for column in sheet.columns]
    shown = ["" if now == before else now for before, now in zip([None, *headings], headings, strict=False)]
    rows = [[column.part for column in sheet.columns], *sheet.rows]
    lines = [table(shown, rows, right=sorted(sheet.numbers))]
    lines += [f"({at}) {reason}" for at, reason in enumerate(sheet.reasons, start=1)]
    lines += [f"- {note}" for note in each.notes]
    return "\n".join(lines)


def _paper(one: Paper) -> dict[str, object]:
    """Return a paper as plain data for JSON."""
    document = asdict(one)
    for kernel in document["kernels"]:
        # What a kernel is run with here.
        names = "variant", "mask", "block", "border", "layout", "task"
        kernel["here"] = {name: kernel.pop(name) for name in names}
    return document


def _document(papers: list[dict[str, object]], machine: dict[str, str]) -> dict[str, object]:
    return {"format": FORMAT, "version": VERSION, "machine": machine, "papers": papers}
