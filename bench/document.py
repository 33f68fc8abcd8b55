"""The tables and figures of the documents, made from bench/results and docstrings.

python -m bench.document      writes all of them anew

The tables of the appendix, docs/performance-tables.md, are put in when the site is built.
"""

import argparse
import ast
import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from bench import answers, bounds, figures, ncu, window
from bench.answers import DocumentFigure
from bench.calls import tables as calls
from bench.markers import TABLES, DocumentTable, put_between, wrapped
from bench.peers.__main__ import document_tables as peers
from bench.whole import tables as whole
from engine.files.atomic_write import atomic_write
from gui.shell.command_line import window_options
from gui.shell.completion import command_parsers

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
    }
    measured = [table for name, of_file in makers.items() for make in of_file for table in make(kept(name))]
    packaged = DocumentTable(Path("docs/architecture.md"), "packages", packages())
    programmed = DocumentTable(Path("bench/README.md"), "programs", programs())
    return [*measured, packaged, programmed, *of_commands()]


def with_tables(text: str) -> str:
    """Return the appendix with its tables, each in the place of its marker <!-- name -->."""
    for table in kept_tables():
        if table.document == TABLES:
            text = text.replace(f"<!-- {table.name} -->", "\n".join(wrapped(table.lines)))
    return text


def kept_figures() -> list[DocumentFigure]:
    """Return every figure of docs/performance.md and its appendix."""
    drawn = {
        "processes": (answers.process_svg, "whole-2-cores"),
        "edits": (answers.window_svg, "window-2-cores"),
        "variants": (answers.variant_svg, "figures-h200"),
        "calls-cpu": (calls.svg_of, "calls-cpu"),
        "calls-arrays": (calls.svg_of, "calls-arrays"),
    }
    runs = [(kept(f"peers-{kind}"), name) for kind in ("gpu", "cpu") for name in ("main", "gaussian")]
    return [
        *(DocumentFigure(name, partial(draw, kept(of_file))) for name, (draw, of_file) in drawn.items()),
        *(answers.library_figure(run, name) for run, name in runs),
    ]


def kept(name: str) -> Any:
    """Return a file of bench/results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


_CLI = Path("docs/cli.md")


def of_commands() -> list[DocumentTable]:
    """Return the options of the window and of each command."""
    parsers = {"window": window_options()} | command_parsers()
    of_filter = set(rows(parsers["filter"]))
    return [
        DocumentTable(
            _CLI,
            f"options:{name}",
            [*options(parser, of_filter if name == "batch" else set()), *examples(parser)],
        )
        for name, parser in parsers.items()
    ]


def options(parser: argparse.ArgumentParser, known: set[str]) -> list[str]:
    """Return the table of a command, without the rows that the page has already."""
    found = [row for row in rows(parser) if row not in known]
    return ["| argument | meaning |", "|---|---|", *found] if found else []


def rows(parser: argparse.ArgumentParser) -> list[str]:
    """Return a row for each argument but `--help` and `--json`, which all have."""
    named = [action for action in parser._actions if {"--help", "--json"}.isdisjoint(action.option_strings)]
    return [f"| `{written(action)}` | {linked(action.help or '')} |" for action in named]


def written(action: argparse.Action) -> str:
    """Return how an argument is typed."""
    value = action.metavar or "\\|".join(map(str, action.choices or ())) or action.dest.upper()
    words = ["`, `".join(action.option_strings), "" if action.nargs == 0 else str(value)]
    return " ".join(filter(None, words))


def linked(text: str) -> str:
    """Return a help text whose names of documents are links."""
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", text).replace("|", "\\|").replace("%%", "%")


def examples(parser: argparse.ArgumentParser) -> list[str]:
    """Return the examples of a help text as a block of code."""
    lines = re.findall(r"(?m)^  ((?:mkdir|python main\.py) .*)$", parser.epilog or "")
    return ["", "```", *lines, "```"]


_ROOT = Path(__file__).parents[1]


def packages() -> list[str]:
    """Return the table of the packages and modules that stand directly in `engine` and `gui`."""
    rows = ["| package | what is in it |", "|---|---|"]
    for top in ("engine", "gui"):
        modules = [*(_ROOT / top).glob("*/__init__.py"), *(_ROOT / top).glob("[!_]*.py")]
        named = {path.parent if path.name == "__init__.py" else path: path for path in modules}
        rows += [
            f"| `{name.relative_to(_ROOT).as_posix()}` | {said_by(named[name])} |" for name in sorted(named)
        ]
    return rows


def programs() -> list[str]:
    """Return the table of what `python -m` runs in this folder."""
    modules = [path for path in (_ROOT / "bench").glob("*.py") if "__name__ ==" in path.read_text("utf-8")]
    named = {path.stem: path for path in modules} | {
        path.parent.name: path for path in (_ROOT / "bench").glob("*/__main__.py")
    }
    rows = [f"| `python -m bench.{name}` | {said_by(path)} |" for name, path in sorted(named.items())]
    return ["| command | what it measures or does |", "|---|---|", *rows]


def said_by(module: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    return (docstring or "").partition("\n")[0]


def main() -> None:
    """Write them."""
    for table in kept_tables():
        if table.document != TABLES:
            put_between(table.document, table.name, table.lines)
    for figure in kept_figures():
        atomic_write(figure.path, figure.svg())


if __name__ == "__main__":
    main()
