"""How weights were typed: the text of each cell, and what all of them are divided by.

    weight = cell * over / divisor

`1/9` is one of the fractions that no float64 is, and `1 2 1; 2 4 2; 1 2 1 /16` is easier to read than its
quotients; so a `Mask` keeps what was typed beside its weights, which follow from it and are rounded once.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NoReturn

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from engine.errors import MaskError
from engine.mask.generator_table import number_text

WHAT = "The mask cannot be read"

# The optional suffix is C's: 1.5f, 2L.
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFlL]?"
FRACTION = rf"{NUMBER}(?:/{NUMBER})?"

# A comma between digits of one word, and one that may part thousands: 1,500 is 1.5 or 1500.
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
_NOT_FINITE = frozenset({"nan", "inf", "infinity", "np.nan", "np.inf", "numpy.nan", "numpy.inf"})
_QUOTED_LENGTH = 40


class Scale(Struct, frozen=True):
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


def read_fraction(word: str, where: str) -> Scale:
    """Return a number or a fraction as numerator and denominator, or refuse it; `where` names the word."""
    if not re.fullmatch(FRACTION, word):
        _refuse_word(word, where)
    numerator, _, denominator = word.partition("/")
    scale = Scale(_read_float(numerator, where), _read_float(denominator, where) if denominator else 1.0)
    if scale.over == 0.0:
        refuse(f"{where} says {quoted(word)}, a division by zero", "Divide by another number than 0.")
    if not math.isfinite(scale.times / scale.over):
        _refuse_range(word, where)
    return scale


def scale_around(before: str | None, over: str | None, times: str | None) -> Scale:
    """Return the factor before a mask times its divisor or the factor after it, or refuse one of them."""
    scale = read_fraction(before, "the factor before the mask") if before else Scale()
    if over:
        divisor = _read_float(over, "the divisor after the mask")
        if divisor == 0.0:
            refuse("the divisor after the mask is 0", "Divide by another number than 0.")
        scale *= Scale(over=divisor)
    return scale * read_fraction(times, "the factor after the mask") if times else scale


def read_rows(lines: Iterable[str]) -> list[list[str]]:
    """Return the cells of rows of text, separated by spaces, commas or tabs: numbers and fractions.

    A comma may end a row. Commas within words of which blanks part others (`1,5 2,5`) are decimal commas, in
    all rows. Refused are cells that are empty, no numbers, or may have a comma between thousands.
    """
    lines = [line.strip() for line in lines]
    gaps = [re.findall(r"[\s,]+", line.removesuffix(",")) for line in lines]
    has_decimal_commas = any("," in of_line and any("," not in gap for gap in of_line) for of_line in gaps)
    return [_read_cells(line, row, has_decimal_commas) for row, line in enumerate(lines, start=1)]


def with_point(word: str, where: str) -> str:
    """Return a number with a decimal comma with a point, other words as they are; refuse an ambiguous one."""
    if not _DECIMAL_COMMA.fullmatch(word):
        return word
    if _THOUSANDS.fullmatch(word):
        point, none = word.replace(",", "."), word.replace(",", "")
        refuse(f'{where} says "{word}", which may be {point} or {none}', f"Write {point} or {none}.")
    return word.replace(",", ".")


def _read_cells(line: str, row: int, has_decimal_commas: bool) -> list[str]:
    """Return the cells of one row of text; `row` counts from 1."""
    if line.endswith(","):
        line = line[:-1].rstrip()
    words: list[str] = []
    for piece in re.findall(r"\s+|\S+" if has_decimal_commas else r'[\s,]+|"[^"\s]*"|[^\s,]+', line):
        is_gap = not piece.replace(",", "").strip()
        where = f"row {row}, column {len(words) + 1}"
        if not is_gap:
            words.append(_read_cell(piece.removesuffix(","), where, has_decimal_commas))
        # A spreadsheet's empty cell is two tabs in a row.
        elif piece.count(",") > 1 or ("," not in piece and piece.count("\t") > 1) or not words:
            refuse(f"{where} is empty", "Write 0 for an empty cell.")
    return words


def check_rectangle(rows: Sequence[Sequence[object]]) -> None:
    """Refuse a table without numbers or with rows of unequal length."""
    if not rows or not rows[0]:
        refuse("there are no numbers in it", "Write rows of numbers, such as 1 0 -1; 2 0 -2; 1 0 -1.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            has = f"row {number} has {count(len(row), 'cell')}, row 1 has {count(len(rows[0]), 'cell')}"
            remedy = "Give every row the same number of cells; write 0 for an empty one."
            refuse(f"its rows differ in length: {has}", remedy)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 cell, 3 cells."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _read_cell(word: str, where: str, has_decimal_commas: bool) -> str:
    # Spreadsheets may put every cell of a CSV file in quotes, and must where it has a decimal comma.
    if len(word) > 2 and word[0] == word[-1] == '"':
        word, has_decimal_commas = word[1:-1], True
    if has_decimal_commas:
        word = with_point(word, where)
    scale = read_fraction(word, where)
    over = f"/{number_text(scale.over)}" if "/" in word else ""
    return f"{number_text(scale.times)}{over}"


def _read_float(word: str, where: str) -> float:
    value = float(word.rstrip("fFlL"))
    if not math.isfinite(value):
        _refuse_range(word, where)
    return value


def _refuse_range(word: str, where: str) -> NoReturn:
    refuse(f"{where} says {quoted(word)}, which is too large a number", "Write a smaller number.")


def _refuse_word(word: str, where: str) -> NoReturn:
    kind, remedy = "number", "Write numbers such as 1, -0.5, 1e-3 or 1/9."
    if word.lstrip("+-").lower() in _NOT_FINITE:
        kind, remedy = "finite number", "Give every cell a finite number."
    elif "/" in word:
        remedy = "Write a fraction without blanks (1/9), and a divisor of the whole mask after it ( /9)."
    refuse(f"{where} says {quoted(word)}, which is not a {kind}", remedy)


class TypedWeights(Struct, frozen=True, dict=True):
    """The weights of a mask as somebody wrote them."""

    cells: tuple[tuple[str, ...], ...]  # rows of numbers and fractions: `2`, `-0.5`, `1/9`
    divisor: str = ""  # what every cell is divided by, a number or a fraction; empty for 1

    @property
    def is_plain(self) -> bool:
        """Whether there is neither a divisor nor a fraction: the weights say all that was typed."""
        return not self.divisor and not any("/" in cell for row in self.cells for cell in row)

    @property
    def scale(self) -> Scale:
        """The factor of all cells."""
        divisor = read_fraction(self.divisor, "the divisor") if self.divisor else Scale()
        if divisor.times == 0.0:
            refuse("the divisor is 0", "Divide by another number than 0.")
        return Scale(divisor.over, divisor.times)

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """The weights, each rounded once; raises MaskError where a text is no number or the divisor 0."""
        rows = [
            [read_fraction(cell, f"row {row}, column {column}") for column, cell in enumerate(cells, start=1)]
            for row, cells in enumerate(self.cells, start=1)
        ]
        values = np.array([[cell.times / cell.over for cell in row] for row in rows])
        # Quotients beyond float64 are refused in words by Mask, not by a warning of NumPy's.
        with np.errstate(over="ignore", invalid="ignore"):
            scaled: npt.NDArray[np.float64] = values * self.scale.times / self.scale.over
        return scaled

    def moved(self, move: Callable[[np.ndarray], np.ndarray]) -> "TypedWeights":
        """Return the cells as a function of arrays, such as a rotation, puts them."""
        cells = move(np.array(self.cells, dtype=object))
        return TypedWeights(tuple(map(tuple, cells.tolist())), self.divisor)


def divisor_text(scale: Scale) -> str:
    """Return a factor of a mask as its divisor; empty for 1."""
    if scale.times == scale.over:
        return ""
    return number_text(scale.over) + (f"/{number_text(scale.times)}" if scale.times != 1.0 else "")
