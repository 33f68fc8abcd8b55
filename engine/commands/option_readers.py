"""How the text of an option is read: each function returns a reader, which refuses what it does not take."""

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.errors import BadValue, UnknownName

T = TypeVar("T")
W = TypeVar("W", bound=str)


def _reader(option: str, parse: Callable[[str], T | None], why: str, remedy: str) -> Callable[[str], T]:
    """Return the reader of an option; `parse` returns None for a text that is refused."""

    def read(text: str) -> T:
        value = parse(text)
        if value is None:
            raise BadValue(f"{option} {text}", why, remedy)
        return value

    return read


@dataclass(frozen=True)
class OneOf(Generic[W]):
    """The reader of an option that is one of some words."""

    option: str
    choices: Collection[W]

    def __call__(self, text: str) -> W:
        """Return the choice that a text is."""
        for choice in self.choices:
            if choice == text:
                return choice
        remedy = f"Choose one of {', '.join(self.choices)}."
        raise UnknownName(f"{self.option} {text}", "there is no such choice", remedy)


def whole(option: str, least: int, most: int) -> Callable[[str], int]:
    """Return the reader of an option that is a whole number within a range."""

    def parse(text: str) -> int | None:
        value = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else least - 1
        return value if least <= value <= most else None

    why = f"it is not a whole number from {least:,} to {most:,}"
    return _reader(option, parse, why, "Choose one in that range.")


def number(option: str, least: float = -math.inf, most: float = math.inf) -> Callable[[str], float]:
    """Return the reader of an option that is a finite number within a range."""

    def parse(text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if math.isfinite(value) and least <= value <= most else None

    span = "" if math.isinf(most) else f" from {least:g} to {most:g}"
    return _reader(option, parse, f"it is not a finite number{span}", "Write one such as 0.5.")


def size_in_bytes(option: str) -> Callable[[str], int]:
    """Return the reader of an option that is a number of bytes, plain or in KiB, MiB, GiB or TiB."""

    def parse(text: str) -> int | None:
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:([kmgt])i?b?)?\s*", text.lower())
        # 0 bytes are refused too.
        return int(match[1]) << 10 * " kmgt".index(match[2] or " ") or None if match else None

    return _reader(option, parse, "it is not a number of bytes", "Write it as 8GiB or as 8589934592.")


def cell(option: str) -> Callable[[str], tuple[int, int]]:
    """Return the reader of an option that is a row and a column."""

    def parse(text: str) -> tuple[int, int] | None:
        match = re.fullmatch(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*", text)
        return (int(match[1]), int(match[2])) if match else None

    why = "it is not a row and a column with a comma between them"
    return _reader(option, parse, why, "Write it as 1,1.")


def several(option: str, read: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Return the reader of a list with commas; a value that is given twice is taken once."""

    def read_all(text: str) -> tuple[T, ...]:
        words = [word.strip() for word in text.split(",")]
        if not all(words):
            why = "a part of the list is empty"
            raise BadValue(f"{option} '{text}'", why, "Separate the parts by single commas.")
        return tuple(dict.fromkeys(read(word) for word in words))

    return read_all


def sides(
    option: str, order: str, most: int, is_allowed: Callable[[int, int], bool] | None = None, limits: str = ""
) -> Callable[[str], tuple[int, int]]:
    """Return the reader of an option that is one side of a square, or two with an x between them.

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
