"""The tables and figures of the documents, made from bench/results and docstrings.

python -m bench.document      writes all of them anew

The tables of the appendix, docs/performance-tables.md, are put in when the site is built.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench import answers, bounds, command_options, executed, figures, ncu, packages, window
from bench.answers import DocumentFigure
from bench.calls import tables as calls
from bench.markers import TABLES, DocumentTable, put_between, wrapped
from bench.peers.__main__ import document_tables as peers
from bench.whole import tables as whole
from engine.files.atomic_write import atomic_write

RESULTS = Path(__file__).parent / "results"


def kept_tables() -> list[DocumentTable]:
    """Return every table of the documents."""
    makers: dict[str, Iterable[Callable[[Any], list[DocumentTable]]]] = {
        "whole-2-cores": (whole.tables, lambda run: [answers.process_answer(run)]),
        "whole-h200": (whole.tables,),
        "window-2-cores": (window.tables, lambda found: [answers.window_answer(found)]),
        "figures-h200": (figures.tables, lambda data: [answers.variant_answer(data)]),
        "peers-gpu": (peers, lambda run: [answers.library_answer(run)]),
        "peers-cpu": (peers, lambda run: [answers.library_answer(run)]),
        "calls-cpu": (calls.tables,),
        "calls-gpu": (calls.tables,),
        "calls-arrays": (calls.tables,),
        "bounds-cpu": (bounds.tables,),
        "bounds-gpu": (bounds.tables,),
        "ncu-h200": (ncu.tables,),
        "executed-h200": (executed.tables,),
    }
    measured = [table for name, of_file in makers.items() for make in of_file for table in make(kept(name))]
    return [*measured, *packages.tables(), *command_options.tables()]


def with_tables(text: str) -> str:
    """Return the appendix with its tables, each in the place of its marker <!-- name -->."""
    for table in kept_tables():
        if table.document == TABLES:
            text = text.replace(f"<!-- {table.name} -->", "\n".join(wrapped(table.lines)))
    return text


def kept_figures() -> list[DocumentFigure]:
    """Return every figure of docs/performance.md and its appendix."""
    return [
        answers.process_figure(kept("whole-2-cores")),
        answers.window_figure(kept("window-2-cores")),
        answers.variant_figure(kept("figures-h200")),
        answers.library_figure(kept("peers-gpu")),
        answers.library_figure(kept("peers-gpu"), "gaussian"),
        answers.library_figure(kept("peers-cpu")),
        answers.library_figure(kept("peers-cpu"), "gaussian"),
        calls.figure(kept("calls-cpu")),
        calls.figure(kept("calls-arrays")),
    ]


def kept(name: str) -> Any:
    """Return a file of bench/results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def main() -> None:
    """Write them."""
    for table in kept_tables():
        if table.document != TABLES:
            put_between(table.document, table.name, table.lines)
    for figure in kept_figures():
        atomic_write(figure.path, figure.svg())


if __name__ == "__main__":
    main()
