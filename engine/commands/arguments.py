"""Reading arguments: argparse, with its complaints in our words, and the types of our options."""

import argparse
import math
import re
import textwrap
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn, TypeVar

from engine.commands import COMMANDS
from engine.errors import BadValue, UnknownName

T = TypeVar("T")

_HELP_WIDTH = 79


class _Name(str):
    """An argument that stands after --: a name, whatever it begins with."""


def _after_dashes(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without the first --, those after it marked as names."""
    if "--" not in arguments:
        return list(arguments)
    place = list(arguments).index("--")
    return [*arguments[:place], *map(_Name, arguments[place + 1 :])]


class Parser(argparse.ArgumentParser):
    """The parser of one command.

    Parameters
    ----------
    command : str
        A key of `COMMANDS`.
    description : str
    examples : sequence of str
        Arguments of commands that work, for `--help`.
    """

    def __init__(self, command: str, description: str, examples: Sequence[str]) -> None:
        lines = "\n".join(f"  python main.py {command} {example}".rstrip() for example in examples)
        heading = COMMANDS[command].help
        super().__init__(
            prog=f"python main.py {command}",
            description=textwrap.fill(f"{heading[0].upper()}{heading[1:]}. {description}", _HELP_WIDTH),
            epilog=f"examples:\n{lines}\n\nexit status: 0 done, 2 bad use or bad input, "
            "3 no such device, 4 failed verification",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_argument(
            "--json",
            action="store_true",
            help="print one JSON document on standard output and nothing else there",
        )

    def read(self, arguments: Sequence[str]) -> argparse.Namespace | None:
        """Return the values of the arguments; None where only help was asked for, and was printed."""
        try:
            # Intermixed: files may stand before, between and after options.
            return self.parse_intermixed_args(_joined(_after_dashes(arguments)))
        except SystemExit:
            return None

    def _parse_optional(self, arg_string: str) -> Any:
        # Intermixed arguments are parsed twice, and the second time argparse has forgotten the --.
        return None if isinstance(arg_string, _Name) else super()._parse_optional(arg_string)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse complains of as bad use."""
        raise BadValue(self.prog, message, f"`{self.prog} --help` shows what can be written, with examples.")


def _joined(arguments: Sequence[str]) -> list[str]:
    """Join an option with a value such as -1,0,1 by =; argparse would take the value for another option."""
    joined: list[str] = []
    for argument in arguments:
        follows_option = (
            bool(joined)
            and not isinstance(argument, _Name)
            and re.fullmatch(r"--[a-z-]+", joined[-1]) is not None
        )
        if follows_option and re.match(r"-[\d.]", argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def one_of(option: str, choices: Collection[str]) -> Callable[[str], str]:
    """Return the type of an option that is one of some words."""

    def read(text: str) -> str:
        if text not in choices:
            raise UnknownName(
                f"{option} {text}", "there is no such choice", f"Choose one of {', '.join(choices)}."
            )
        return text

    return read


def whole(option: str, least: int, most: int) -> Callable[[str], int]:
    """Return the type of an option that is a whole number within a range."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,18}", text) or not least <= int(text) <= most:
            raise BadValue(
                f"{option} {text}",
                f"it is not a whole number from {least:,} to {most:,}",
                "Choose one in that range.",
            )
        return int(text)

    return read


def number(option: str, least: float = -math.inf, most: float = math.inf) -> Callable[[str], float]:
    """Return the type of an option that is a finite number within a range."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and least <= value <= most):
            span = "" if math.isinf(most) else f" from {least:g} to {most:g}"
            raise BadValue(f"{option} {text}", f"it is not a finite number{span}", "Write one such as 0.5.")
        return value

    return read


def size_in_bytes(option: str) -> Callable[[str], int]:
    """Return the type of an option that is a number of bytes, plain or in KiB, MiB, GiB or TiB."""

    def read(text: str) -> int:
        match = re.fullmatch(r"\s*(\d{1,18})\s*([kmgt]i?b?)?\s*", text, re.IGNORECASE)
        count = (
            int(match[1]) << 10 * (1 + "kmgt".index(match[2][0].lower()) if match[2] else 0) if match else 0
        )
        if count < 1:
            raise BadValue(
                f"{option} {text}", "it is not a number of bytes", "Write it as 8GiB or as 8589934592."
            )
        return count

    return read


def several(option: str, read: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Return the type of an option that is a list with commas; what stands in it twice is taken once."""

    def read_all(text: str) -> list[T]:
        words = [word.strip() for word in text.split(",")]
        if not all(words):
            raise BadValue(
                f"{option} '{text}'", "a part of the list is empty", "Separate the parts by single commas."
            )
        return list(dict.fromkeys(read(word) for word in words))

    return read_all


def sides(
    option: str, order: str, most: int, is_allowed: Callable[[int, int], bool] | None = None, limits: str = ""
) -> Callable[[str], tuple[int, int]]:
    """Return the type of an option that is one side of a square, or two with an x between them.

    Parameters
    ----------
    option : str
    order : str
        What the two are, for the error: "width x height".
    most : int
        Of each side.
    is_allowed : callable of (int, int) -> bool, optional
        Whether two sides go together, where `most` is not all there is to say.
    limits : str
        What `is_allowed` allows, for the error.
    """

    def read(text: str) -> tuple[int, int]:
        match = re.fullmatch(r"(\d{1,9})(?:[xX×](\d{1,9}))?", text)
        pair = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if match and is_allowed and not is_allowed(*pair):
            raise BadValue(f"{option} {text}", limits, "Choose a size within these.")
        if not (1 <= pair[0] <= most and 1 <= pair[1] <= most):
            raise BadValue(
                f"{option} {text}",
                f"it is neither a side from 1 to {most:,} nor {order}",
                "Write it as 5 or as 5x7.",
            )
        return pair

    return read


def cell(option: str) -> Callable[[str], tuple[int, int]]:
    """Return the type of an option that is a row and a column."""

    def read(text: str) -> tuple[int, int]:
        match = re.fullmatch(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*", text)
        if not match:
            raise BadValue(
                f"{option} {text}",
                "it is not a row and a column with a comma between them",
                "Write it as 1,1.",
            )
        return int(match[1]), int(match[2])

    return read
