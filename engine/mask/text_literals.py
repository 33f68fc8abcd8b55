"""Masks in brackets: NumPy, C and MATLAB literals, and the code around them.

Around the brackets there may be a declaration (`float m[3][3] =`), a factor (`1/16 *`), a call (`np.array(...
, dtype=np.float32)`) and a divisor (`/ 16`). Everything else is refused with the words that were not
understood.
"""

import re
from dataclasses import dataclass, field
from typing import NoReturn

from engine.mask.text_cells import (
    FRACTION,
    NUMBER,
    Scale,
    check_rectangle,
    quoted,
    read_rows,
    refuse,
    scale_around,
    slashes_without_blanks,
)

# Characters before or after the brackets; longer text is no form of a mask.
_MAX_AROUND = 200
_CALLS = "array|asarray|matrix|tensor|Tensor|float32|float64"
_BEFORE = re.compile(rf"(?:\(?({FRACTION})\)? ?\* ?)?((?:[A-Za-z_]\w*\.)*(?:{_CALLS}) ?\()?")
_AFTER = re.compile(
    r"(?: ?, ?(?:dtype ?= ?)?['\"]?[A-Za-z_][\w.]*['\"]?)?(?: ?,)?(?P<closed> ?\))?"
    r"(?:\.astype\([\w.'\"]*\))?"
    rf"(?: ?/ ?\(?(?P<over>{NUMBER})\)?| ?\* ?\(?(?P<times>{FRACTION})\)?)? ?;?"
)
_DECLARATION = re.compile(r"[\w \*&:<>,.\[\]]*")
_CLOSING = {"[": "]", "{": "}"}
_TOO_MANY_BRACKETS = "Write one table, such as [[1, 0, -1], [2, 0, -2]]."


def read_literal(text: str) -> tuple[list[list[str]], Scale]:
    """Return the rows of a mask in brackets, and the factor around it, or refuse the text."""
    opening = "{" if "{" in text else "["
    start, end = text.find(opening), text.rfind(_CLOSING[opening]) + 1
    if end <= start:
        refuse(f"the bracket {opening} is not closed", f"Close it with {_CLOSING[opening]}.")
    declared, scale = _read_around(text[:start], text[end:])
    rows = _rows(text[start:end])
    check_rectangle(rows)
    return _as_declared(rows, declared), scale


def _read_around(before: str, after: str) -> tuple[list[int | None], Scale]:
    """Return the sides that a declaration names, and the factor before times the one after."""
    # One blank for each run of them keeps the patterns free of repeated blanks, and so linear.
    before, after = " ".join(before.split()), " ".join(after.split())
    declaration, _, factor = before.rpartition("=")
    matched_before = _BEFORE.fullmatch(slashes_without_blanks(factor)) if len(before) <= _MAX_AROUND else None
    if matched_before is None or not _DECLARATION.fullmatch(declaration):
        _refuse_around("before", before)
    matched_after = _AFTER.fullmatch(after) if len(after) <= _MAX_AROUND else None
    is_call = matched_before[2] is not None
    has_comma = after.startswith(",") and not is_call
    if matched_after is None or is_call != (matched_after["closed"] is not None) or has_comma:
        _refuse_around("after", after)
    scale = scale_around(matched_before[1], matched_after["over"], matched_after["times"])
    sides = re.findall(r"\[([^\]]*)\]", declaration)
    return [int(side) if side.strip().isdecimal() else None for side in sides], scale


def _refuse_around(place: str, words: str) -> NoReturn:
    refuse(
        f"{quoted(words)} {place} the brackets is not understood",
        "Leave it out, or write [[1, 0, -1], [2, 0, -2]], with a factor (1/16 *) before it or a divisor "
        "(/ 16) after it.",
    )


@dataclass
class _Brackets:
    """What a scan of the brackets found: the innermost pieces, and how deep they lie."""

    pieces: list[str] = field(default_factory=list)
    depths: set[int] = field(default_factory=set)
    tables: int = 0


def _scan(body: str) -> _Brackets:
    found = _Brackets()
    open_brackets: list[str] = []
    previous = 0
    is_innermost = False
    for match in re.finditer(r"[\[\]{}]", body):
        between, previous = body[previous : match.start()], match.end()
        if match[0] in _CLOSING:
            _refuse_words_between(between)
            found.tables += not open_brackets
            open_brackets.append(match[0])
            is_innermost = True
            if len(open_brackets) > 2:
                refuse("its brackets are nested more than two deep", _TOO_MANY_BRACKETS)
            continue
        if not open_brackets or _CLOSING[open_brackets[-1]] != match[0]:
            refuse(f"the bracket {match[0]} closes none that is open", "Check the brackets.")
        if is_innermost:
            found.pieces.append(between)
            found.depths.add(len(open_brackets))
        else:
            _refuse_words_between(between)
        open_brackets.pop()
        is_innermost = False
    if open_brackets:
        refuse(f"the bracket {open_brackets[-1]} is not closed", "Check the brackets.")
    return found


def _refuse_words_between(between: str) -> None:
    if between.strip(" \t\n,;"):
        refuse(f"{quoted(between.strip())} stands between the brackets of two rows", _TOO_MANY_BRACKETS)


def _rows(body: str) -> list[list[str]]:
    found = _scan(body)
    if len(found.depths) > 1 or (found.depths == {2} and found.tables > 1):
        refuse("its brackets hold more than one table", _TOO_MANY_BRACKETS)
    lines = found.pieces
    # Blanks around a slash are fine here: a divisor of the whole mask is outside the brackets.
    if len(lines) == 1 and found.depths == {1}:
        lines = _lines_in_one_bracket(slashes_without_blanks(lines[0]))
    return read_rows(" ".join(slashes_without_blanks(line).split("\n")) for line in lines)


def _lines_in_one_bracket(inside: str) -> list[str]:
    """Return the rows of `[1 0 -1; 2 0 -2]`; a line that ends with a comma is continued by the next."""
    rows: list[str] = []
    for part in inside.split(";"):
        pending: list[str] = []
        for line in part.split("\n"):
            pending.append(line)
            if not line.rstrip().endswith(","):
                rows.append(" ".join(pending))
                pending = []
        rows.append(" ".join(pending))
    return [row for row in rows if row.strip()]


def _as_declared(rows: list[list[str]], declared: list[int | None]) -> list[list[str]]:
    """Return the rows as a C declaration shapes them; it may list the cells of all rows in one bracket."""
    if len(declared) < 2:
        return rows
    if len(declared) > 2:
        refuse(f"it is declared with {len(declared)} sides", "A mask has rows and columns only.")
    high, wide = declared
    cells = [cell for row in rows for cell in row]
    if len(rows) == 1 and wide and len(cells) % wide == 0:
        rows = [cells[at : at + wide] for at in range(0, len(cells), wide)]
    is_unknown = len(rows) == 1 and high is None and wide is None
    if is_unknown or high not in (None, len(rows)) or wide not in (None, len(rows[0])):
        refuse(
            f"it is declared as {high or '?'} × {wide or '?'} and holds {len(rows)} × {len(rows[0])} numbers",
            "Write each row in its own brackets, or correct the declared sides.",
        )
    return rows
