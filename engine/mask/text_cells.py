"""Numbers, cells and rows of a mask in text: the part of reading that all text forms share.

Every number is matched by a pattern before `float` sees it (`float` alone would take `1_0` and `nan`), and
nothing is ever evaluated. All scans are linear in the length of the text.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from engine.errors import MaskError

WHAT = "The mask cannot be read"

# The optional suffix is C's: 1.5f, 2L.
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFlL]?"
FRACTION = rf"{NUMBER}(?:/{NUMBER})?"

_NOT_FINITE = frozenset({"nan", "inf", "infinity", "np.nan", "np.inf", "numpy.nan", "numpy.inf"})
_QUOTED_LENGTH = 40


@dataclass(frozen=True)
class Scale:
    """A factor of the whole mask, kept as two numbers so that 1/9 of a weight is rounded once."""

    times: float = 1.0
    over: float = 1.0

    def __mul__(self, other: "Scale") -> "Scale":
        return Scale(self.times * other.times, self.over * other.over)


def quoted(word: str) -> str:
    """Return a word as it is shown in an error: in quotes, without control characters, cut when long."""
    return repr(word if len(word) <= _QUOTED_LENGTH else word[: _QUOTED_LENGTH - 1] + "…")


def refuse(why: str, remedy: str) -> NoReturn:
    """Refuse to read a mask, by a `MaskError`."""
    raise MaskError(WHAT, why, remedy)


def slashes_without_blanks(text: str) -> str:
    """Return the text with `1 / 9` written as `1/9`, and without blanks at its ends."""
    return "/".join(part.strip() for part in text.split("/"))


def _read_scale(word: str, where: str) -> Scale:
    """Return a number or a fraction as numerator and denominator, or refuse it; `where` names the word."""
    if not re.fullmatch(FRACTION, word):
        _refuse_word(word, where)
    numerator, _, denominator = word.partition("/")
    scale = Scale(_read_float(numerator, where), _read_float(denominator, where) if denominator else 1.0)
    if scale.over == 0.0:
        refuse(f"{where} says {quoted(word)}, a division by zero", "Divide by another number than 0.")
    return scale


def scale_around(before: str | None, over: str | None, times: str | None) -> Scale:
    """Return the factor before a mask times its divisor or the factor after it, or refuse one of them."""
    scale = _read_scale(before, "the factor before the mask") if before else Scale()
    if over:
        divisor = _read_float(over, "the divisor after the mask")
        if divisor == 0.0:
            refuse("the divisor after the mask is 0", "Divide by another number than 0.")
        scale *= Scale(over=divisor)
    return scale * _read_scale(times, "the factor after the mask") if times else scale


def read_cells(line: str, row: int) -> list[float]:
    """Return the numbers of one row of text, separated by spaces, commas or tabs; `row` counts from 1.

    A comma may end it. Refused are cells that are empty or no numbers, and commas and blanks side
    by side between cells: a decimal comma.
    """
    line = line.strip()
    if line.endswith(","):
        line = line[:-1].rstrip()
    words: list[str] = []
    has_glued_comma = has_blank = False
    for piece in re.findall(r"[\s,]+|[^\s,]+", line):
        if not (piece[0] == "," or piece[0].isspace()):
            words.append(piece)
            continue
        commas = piece.count(",")
        # A spreadsheet's empty cell is two tabs in a row.
        if commas > 1 or (commas == 0 and piece.count("\t") > 1) or not words:
            refuse(f"row {row}, column {len(words) + 1} is empty", "Write 0 for an empty cell.")
        has_glued_comma |= piece == ","
        has_blank |= commas == 0
    if has_glued_comma and has_blank:
        refuse(
            f"row {row} has both commas and blanks between its numbers, which looks like a decimal comma",
            "Write 0.5 for a half, and separate cells with commas or with blanks, not with both.",
        )
    return [_read_cell(word, f"row {row}, column {column}") for column, word in enumerate(words, start=1)]


def check_rectangle(rows: Sequence[Sequence[float]]) -> None:
    """Refuse a table without numbers or with rows of unequal length."""
    if not rows or not rows[0]:
        refuse("there are no numbers in it", "Write rows of numbers, such as 1 0 -1; 2 0 -2; 1 0 -1.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            refuse(
                f"its rows differ in length: row {number} has {count(len(row), 'cell')}, "
                f"row 1 has {count(len(rows[0]), 'cell')}",
                "Give every row the same number of cells; write 0 for an empty one.",
            )


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 cell, 3 cells."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _read_cell(word: str, where: str) -> float:
    # Spreadsheets may put every cell of a CSV file in quotes.
    if len(word) > 2 and word[0] == word[-1] == '"':
        word = word[1:-1]
    scale = _read_scale(word, where)
    value = scale.times / scale.over
    if not math.isfinite(value):
        _refuse_range(word, where)
    return value


def _read_float(word: str, where: str) -> float:
    value = float(word.rstrip("fFlL"))
    if not math.isfinite(value):
        _refuse_range(word, where)
    return value


def _refuse_range(word: str, where: str) -> NoReturn:
    refuse(f"{where} says {quoted(word)}, which is too large a number", "Write a smaller number.")


def _refuse_word(word: str, where: str) -> NoReturn:
    if word.lstrip("+-").lower() in _NOT_FINITE:
        refuse(
            f"{where} says {quoted(word)}, which is not a finite number",
            "Give every cell a finite number.",
        )
    remedy = "Write numbers such as 1, -0.5, 1e-3 or 1/9."
    if "/" in word:
        remedy = "Write a fraction without blanks (1/9), and a divisor of the whole mask after it ( /9)."
    refuse(f"{where} says {quoted(word)}, which is not a number", remedy)
