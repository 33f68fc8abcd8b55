"""What the command lines of the benchmarks share."""

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench.document import DocumentTable, put


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a module's docstring, line by line."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_files(parser: argparse.ArgumentParser, written_to: str) -> None:
    """Take --json FILE, and --write FILE for `wrote_tables`."""
    parser.add_argument("--json", type=Path, help="also write everything as JSON")
    parser.add_argument("--write", type=Path, help=f"write the tables of such a file into {written_to}")


def wrote_tables(arguments: argparse.Namespace, tables: Callable[[Any], Iterable[DocumentTable]]) -> bool:
    """Write the tables of the file of --write into their documents; return whether there is one."""
    if arguments.write:
        put(tables(json.loads(arguments.write.read_text(encoding="utf-8"))))
    return bool(arguments.write)
