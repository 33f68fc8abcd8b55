"""The tables of docs/cli.md: the commands, and of each its options and examples, as `--help` says them."""

import argparse
import re
from pathlib import Path

from bench.markers import DocumentTable
from gui.shell.command_line import window_options
from gui.shell.completion import command_parsers

PAGE = Path("docs/cli.md")


def tables() -> list[DocumentTable]:
    """Return the options of the window and of each command."""
    parsers = {"window": window_options()} | command_parsers()
    of_filter = set(rows(parsers["filter"]))
    return [
        DocumentTable(
            PAGE,
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
