"""What the command lines of the benchmarks share."""

import argparse


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a module's docstring, line by line."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
