"""Results as CSV, JSON and text for the clipboard: pure functions; writing the file is `engine.files.atomic_write`."""

import csv
import io
import json
import math
from collections.abc import Sequence

from engine.results import RunResult, Spread
from gui.state.results_columns import COLUMNS, Key, Row

Cell = str | float | int | None

FORMAT = "haloscope-results"
VERSION = 1

UNITS = {
    "*_ms": "milliseconds",
    "height, width, checked_pixels, total_pixels": "pixels",
    "max_error, bound, cval": "units of the picture's samples",
    "block.x, block.y": "threads",
    "speed_up": "baseline's median kernel time / this median kernel time, same problem",
}

# What a spreadsheet would take for a formula, or strip to get at one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_csv(rows: Sequence[Row], baseline: str) -> str:
    """Return the results as CSV with units in the header; raw samples are in the JSON only.

    Cells without a value are empty; text that a spreadsheet could take for a formula gets a leading '.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    records = [_record(row, baseline) for row in rows]
    writer.writerow(_record(None, baseline))
    writer.writerows([_plain(cell) for cell in record.values()] for record in records)
    return text.getvalue()


def to_json(rows: Sequence[Row], baseline: str) -> str:
    """Return the results as strict JSON: raw samples, proof, machine, versions.

    JSON has no NaN and no infinity: such numbers are the strings "NaN", "Infinity" and "-Infinity", which Python's
    and JavaScript's own number constructors read.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "units": UNITS,
        "baseline": baseline,
        "results": [row.result.as_json() | {"speed_up": row.speed_up} for row in rows],
    }
    return json.dumps(_finite(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def to_clipboard_text(rows: Sequence[Row], baseline: str) -> str:
    """Return the table's own columns as text with tabs, as spreadsheets and documents take it when pasted.

    Numbers are not rounded to what the table shows: they have six significant digits and no unit.
    """
    headers = [f"speed-up vs {baseline}" if c.key is Key.SPEEDUP else c.header for c in COLUMNS]
    lines = [headers, *([_pasted(column.text(row), column.sort(row)) for column in COLUMNS] for row in rows)]
    return "\n".join("\t".join(line) for line in lines) + "\n"


def _pasted(text: str, value: Cell) -> str:
    if isinstance(value, float) and not any(letter.isalpha() or letter == "×" for letter in text.rstrip("×")):
        return text if "–" in text else f"{value:.6g}"
    return str(_plain(" ".join(text.split())))


def _record(row: Row | None, baseline: str) -> dict[str, Cell]:
    raise NotImplementedError


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell
