"""Numbers and results as others read them: the digits they are worth, cells, HTML, strict JSON.

Nothing of it runs: no spreadsheet takes a cell for a formula.
"""

import json
import math
from collections.abc import Iterable, Sequence

MISSING = "–"


def digits_text(value: float, digits: int) -> str:
    """Write a number with `digits` significant digits and never with an exponent: 0.0412, 18.4, 8,013."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "infinite"
    if value == 0:
        return "0"
    # 9.996 is 10.0 with three digits.
    value = float(f"{value:.{digits - 1}e}") if abs(value) < 10**digits else value
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def ms_cell(duration_ms: float | None) -> str:
    """Write a duration for a column whose header has the unit."""
    return MISSING if duration_ms is None else digits_text(duration_ms, 3)


def ms_text(duration_ms: float) -> str:
    """Write a duration with its unit, in milliseconds, so that a list can be compared at a glance."""
    return f"{digits_text(duration_ms, 3)} ms"


def duration_text(duration_ms: float) -> str:
    """Write a duration with three digits in the unit that suits it: 118 µs, 19.6 ms, 1.20 s."""
    unit, in_ms = _unit_of(duration_ms)
    return f"{digits_text(duration_ms / in_ms, 3)} {unit}" if duration_ms else "0 ms"


def tick_text(duration_ms: float) -> str:
    """Write a round duration of an axis in the unit that suits it: 20 µs, 5 ms, 2 s."""
    unit, in_ms = _unit_of(duration_ms)
    return f"{rate_text(duration_ms / in_ms)} {unit}"


def _unit_of(duration_ms: float) -> tuple[str, float]:
    """Return the largest unit of which a duration has one, and how many ms that is."""
    # 0.9996 ms is 1.00 ms with three digits.
    units = ("s", 1000.0), ("ms", 1.0), ("µs", 1e-3)
    return next(((unit, in_ms) for unit, in_ms in units if duration_ms >= in_ms * 0.9995), ("ns", 1e-6))


def ratio_text(ratio: float | None) -> str:
    """Write a speed-up: 30,800×, 19.4×; and 90.1× slower, because 0.0111× says little."""
    if ratio is None:
        return MISSING
    if 0.0 < ratio < 0.9995:
        return f"{ratio_text(1.0 / ratio)} slower"
    # 0.9996 rounds to 1.00.
    ratio = max(ratio, 1.0) if ratio else ratio
    if ratio >= 1000:
        # The digits that are not worth anything are 0.
        step = 10 ** (math.floor(math.log10(ratio)) - 2) if math.isfinite(ratio) else 1
        return f"{count_text(round(ratio / step) * step)}×" if math.isfinite(ratio) else "infinite×"
    return f"{digits_text(ratio, 3)}×"


def percent_text(share: float) -> str:
    """Write a share: 87.0 %."""
    return f"{digits_text(100.0 * share, 3)} %"


def rate_text(value: float) -> str:
    """Write a rate or a ratio of counts with up to four digits: 1,074, 345.6, 16, 2.727."""
    text = digits_text(value, 4)
    return text.rstrip("0").rstrip(".") if "." in text else text


def scaled_text(number: float) -> str:
    """Write a large number with three digits: 113 M."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{digits_text(number / factor, 3)} {letter}"
    return rate_text(number)


def sides_text(sides: Iterable[int]) -> str:
    """Write the sides of an array: 512 × 512 × 3."""
    return " × ".join(map(str, sides))


def count_text(count: float) -> str:
    """Write a whole number: 1,572,864."""
    return f"{count:,.0f}"


def error_text(error: float | None) -> str:
    """Write an error against the oracle: 0, 1.2e-07."""
    if error is None:
        return MISSING
    if not math.isfinite(error):
        return digits_text(error, 2)
    return "0" if error == 0 else f"{error:.2g}"


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
