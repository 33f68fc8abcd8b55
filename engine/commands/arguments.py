"""Reading arguments: argparse, with its complaints as our errors, and the types of our options."""

import argparse
import inspect
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
    """An argument after --: a name, even if it begins with a dash."""


class Parser(argparse.ArgumentParser):
    """The parser of one command, a key of `COMMANDS`; `examples` are arguments that work, for `--help`."""

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
        self.add_options("--json  print one JSON document on standard output and nothing else there")

    def add_options(self, text: str, **settings: dict[str, Any]) -> None:
        """Add options from a text with a line for each: names, placeholder of the value, two spaces, help.

        A line that does not begin with -- continues the one before; an option without a placeholder is a
        flag. `settings` has what else `add_argument` needs for an option: type, default, required.
        """
        for line in re.split(r"\n(?=--)", inspect.cleandoc(text)):
            head, _, help_text = line.partition("  ")
            names = [word.rstrip(",") for word in head.split() if word.startswith("--")]
            known = settings.pop(names[0][2:].replace("-", "_"), {})
            placeholder = head.split()[-1]
            kind = {"action": "store_true"} if placeholder.startswith("--") else {"metavar": placeholder}
            self.add_argument(*names, help=" ".join(help_text.split()), **kind | known)
        assert not settings, f"there are no options {list(settings)}"

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the values of the arguments. Raises BadValue, and SystemExit after --help."""
        if "--" in arguments:
            at = list(arguments).index("--")
            arguments = [*arguments[:at], *map(_Name, arguments[at + 1 :])]
        # Intermixed: files may stand before, between and after options.
        return self.parse_intermixed_args(_with_joined_numbers(arguments))

    def _parse_optional(self, arg_string: str) -> Any:
        # Intermixed arguments are parsed twice, and the second time argparse has forgotten the --.
        return None if isinstance(arg_string, _Name) else super()._parse_optional(arg_string)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse complains of as bad use."""
        raise BadValue(self.prog, message, f"`{self.prog} --help` shows what can be written, with examples.")


def _with_joined_numbers(arguments: Sequence[str]) -> list[str]:
    """Join an option with a value such as -1,0,1 by =; argparse would take the value for another option."""
    joined: list[str] = []
    for argument in arguments:
        is_number = not isinstance(argument, _Name) and re.match(r"-[\d.]", argument)
        if is_number and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _type(
    option: str, parse: Callable[[str], T | None], why: str, remedy: str, error: type[BadValue | UnknownName]
) -> Callable[[str], T]:
    """Return the type of an option; `parse` returns None for a text that is refused."""

    def read(text: str) -> T:
        value = parse(text)
        if value is None:
            raise error(f"{option} {text}", why, remedy)
        return value

    return read


def one_of(option: str, choices: Collection[str]) -> Callable[[str], str]:
    """Return the type of an option that is one of some words."""
    remedy = f"Choose one of {', '.join(choices)}."
    return _type(
        option, lambda text: text if text in choices else None, "there is no such choice", remedy, UnknownName
    )


def whole(option: str, least: int, most: int) -> Callable[[str], int]:
    """Return the type of an option that is a whole number within a range."""

    def parse(text: str) -> int | None:
        value = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else least - 1
        return value if least <= value <= most else None

    why = f"it is not a whole number from {least:,} to {most:,}"
    return _type(option, parse, why, "Choose one in that range.", BadValue)


def number(option: str, least: float = -math.inf, most: float = math.inf) -> Callable[[str], float]:
    """Return the type of an option that is a finite number within a range."""

    def parse(text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if math.isfinite(value) and least <= value <= most else None

    span = "" if math.isinf(most) else f" from {least:g} to {most:g}"
    return _type(option, parse, f"it is not a finite number{span}", "Write one such as 0.5.", BadValue)


def size_in_bytes(option: str) -> Callable[[str], int]:
    """Return the type of an option that is a number of bytes, plain or in KiB, MiB, GiB or TiB."""

    def parse(text: str) -> int | None:
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:([kmgt])i?b?)?\s*", text.lower())
        # 0 bytes are refused too.
        return int(match[1]) << 10 * " kmgt".index(match[2] or " ") or None if match else None

    return _type(option, parse, "it is not a number of bytes", "Write it as 8GiB or as 8589934592.", BadValue)


def cell(option: str) -> Callable[[str], tuple[int, int]]:
    """Return the type of an option that is a row and a column."""

    def parse(text: str) -> tuple[int, int] | None:
        match = re.fullmatch(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*", text)
        return (int(match[1]), int(match[2])) if match else None

    why = "it is not a row and a column with a comma between them"
    return _type(option, parse, why, "Write it as 1,1.", BadValue)


def several(option: str, read: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Return the type of an option that is a list with commas; a value that is given twice is taken once."""

    def read_all(text: str) -> list[T]:
        words = [word.strip() for word in text.split(",")]
        if not all(words):
            why = "a part of the list is empty"
            raise BadValue(f"{option} '{text}'", why, "Separate the parts by single commas.")
        return list(dict.fromkeys(read(word) for word in words))

    return read_all


def sides(
    option: str, order: str, most: int, is_allowed: Callable[[int, int], bool] | None = None, limits: str = ""
) -> Callable[[str], tuple[int, int]]:
    """Return the type of an option that is one side of a square, or two with an x between them.

    `order` names the two in the error ("width x height"); `most` is for each side, and `is_allowed` for both
    together; `limits` says in the error what it allows.
    """

    def read(text: str) -> tuple[int, int]:
        match = re.fullmatch(r"(\d{1,9})(?:[xX×](\d{1,9}))?", text)
        pair = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if match and is_allowed and not is_allowed(*pair):
            raise BadValue(f"{option} {text}", limits, "Choose a size within these.")
        if not (1 <= pair[0] <= most and 1 <= pair[1] <= most):
            why = f"it is neither a side from 1 to {most:,} nor {order}"
            raise BadValue(f"{option} {text}", why, "Write it as 5 or as 5x7.")
        return pair

    return read
