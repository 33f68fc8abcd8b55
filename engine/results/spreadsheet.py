"""Cells for CSV files that people open in spreadsheets."""

import math

# What a spreadsheet would take for a formula, or strip to get at one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with a leading ' where it might."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
