"""What the command lines of the benchmarks share."""

import argparse
from pathlib import Path


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a module's docstring, line by line."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Take --json FILE."""
    parser.add_argument("--json", type=Path, help="also write everything as JSON")
