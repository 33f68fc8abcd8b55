"""Results as others read them: cells of spreadsheets, tables of HTML, strict JSON; nothing of it runs."""

import json
import math
from collections.abc import Iterable, Sequence

# What a spreadsheet would take for a formula, or strip to get at one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with a leading ' where it might."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and not is_number(text) else text


def is_number(text: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


MOST_LINES = 10
"""Of what `repr` says."""

# As `html.escape`, which takes 2 ms to import.
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def html_table(lines: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Return a table of texts, of which each line begins with its name."""
    head = "".join(f"<th>{_cell(text)}</th>" for text in header)
    body = "".join(
        f"<tr><th>{_cell(name)}</th>{''.join(f'<td>{_cell(text)}</td>' for text in texts)}</tr>"
        for name, *texts in lines
    )
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    return text.translate(_ESCAPED)


class Shown:
    """What Python and notebooks show by a few named lines in place of all its fields."""

    __slots__ = ()

    def _shown(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self._shown()]
        rest = [f"and {len(lines) - MOST_LINES + 2} more"] if len(lines) >= MOST_LINES else []
        return "\n  ".join([type(self).__name__, *lines[: MOST_LINES - 1 - len(rest)], *rest])

    def _repr_html_(self) -> str:
        return html_table(self._shown())


NON_FINITE = "NaN, Infinity and -Infinity, which JSON does not have; missing values are written as null"
"""What the strings among the numbers of a document are, for its reader."""


def json_text(document: object) -> str:
    """Return a document as strict JSON that any reader takes.

    What does not exist (a time that was not measured) is None in the document and null here. A number that
    exists and is not finite becomes the string "NaN", "Infinity" or "-Infinity", which the number
    constructors of Python and JavaScript read.
    """
    return json.dumps(strict(document), indent=2, allow_nan=False) + "\n"


def strict(value: object) -> object:
    """Return plain data without numbers that JSON does not have: they are strings."""
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
