"""Results as CSV, JSON and text for the clipboard: pure functions; writing the file is `engine.files.atomic_write.atomic_write`."""

import csv
import io
from collections.abc import Callable, Iterable

from engine.results.measurement import RunResult, Spread
from engine.results.spreadsheet import harmless
from engine.results.strict_json import NON_FINITE, json_text
from engine.tasks.work import MODEL_OF_WORK, work_columns
from gui.explore.results.comparison import kernel_speed_ms
from gui.explore.results.results_columns import COLUMNS, Key, Row

Cell = str | float | int | None

FORMAT = "haloscope-results"
VERSION = 1

UNITS = {
    "names that end in _ms": "milliseconds",
    "height, width, checked_pixels, total_pixels": "pixels",
    "max_error, bound, cval": "units of the picture's samples",
    "block": "threads across (x) and down (y)",
    "speed_up": "median kernel time of the baseline over that of this result, same problem",
    "layout": "of the rows on a CUDA device: each on a 128-byte boundary (pitched), or dense (packed)",
    "work": MODEL_OF_WORK,
    "numbers written as strings": NON_FINITE,
}

# Columns of the table whose value to sort by is the number in the cell.
_MEASURED = (Key.KERNEL, Key.SPEEDUP, Key.END_TO_END, Key.ERROR)


def to_csv(rows: Iterable[Row], baseline: str) -> str:
    """Return the results as CSV with units in the header; raw samples are in the JSON only.

    Times stand only where they are a speed (verified, not simulated); a cell without a value is empty, and `status`
    says why. Text that a spreadsheet could take for a formula gets a leading '.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([header for header, _ in _CSV_COLUMNS])
    for row in rows:
        cells = {header: value(row) for header, value in _CSV_COLUMNS} | {"baseline": baseline}
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in cells.values()])
    return text.getvalue()


def to_json(rows: Iterable[Row], baseline: str) -> str:
    """Return the results as strict JSON: raw samples, proof, machine, versions."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "units": UNITS,
        "baseline": baseline,
        "results": [row.result.as_json() | {"speed_up": row.speed_up} for row in rows],
    }
    return json_text(document)


def to_clipboard_text(rows: Iterable[Row], baseline: str) -> str:
    """Return the table's own columns as lines with tabs, as spreadsheets and documents take them when pasted.

    Measured numbers have six significant digits, whatever the table shows.
    """
    headers = [f"Speed-up vs {baseline}" if c.key is Key.SPEEDUP else c.header for c in COLUMNS]
    lines = [headers]
    for row in rows:
        values = [column.sort(row) if column.key in _MEASURED else None for column in COLUMNS]
        lines.append(
            [
                f"{value:.6g}" if isinstance(value, float) else _one_line(column.text(row))
                for column, value in zip(COLUMNS, values, strict=True)
            ]
        )
    return "".join("\t".join(line) + "\n" for line in lines)


def _one_line(text: str) -> str:
    return harmless(" ".join(text.split()))


def _timed(value: Callable[[RunResult], Cell]) -> Callable[[Row], Cell]:
    """Return the value for results with a speed only."""
    return lambda row: value(row.result) if kernel_speed_ms(row.result) is not None else None


def _spread_columns(
    name: str, spread: Callable[[RunResult], Spread | None]
) -> tuple[tuple[str, Callable[[Row], Cell]], ...]:
    def value(read: Callable[[Spread], float]) -> Callable[[Row], Cell]:
        return _timed(lambda result: read(found) if (found := spread(result)) else None)

    return (
        (f"{name}_median_ms", value(lambda s: s.median_ms)),
        (f"{name}_p20_ms", value(lambda s: s.p20_ms)),
        (f"{name}_p80_ms", value(lambda s: s.p80_ms)),
        (f"{name}_minimum_ms", value(lambda s: s.minimum_ms)),
    )


def _work_column(name: str) -> tuple[str, Callable[[Row], Cell]]:
    return name, lambda row: work_columns(row.result.work)[name]


def _versions(row: Row) -> str:
    return ", ".join(f"{name} {version}" for name, version in row.result.environment.versions.items())


_CSV_COLUMNS: tuple[tuple[str, Callable[[Row], Cell]], ...] = (
    ("variant", lambda row: row.result.variant),
    ("device", lambda row: row.result.device),
    ("block_x_threads", lambda row: row.result.block.x if row.result.block else None),
    ("block_y_threads", lambda row: row.result.block.y if row.result.block else None),
    ("layout", lambda row: row.result.layout or None),
    ("width_px", lambda row: row.result.problem.width),
    ("height_px", lambda row: row.result.problem.height),
    ("channels", lambda row: row.result.problem.channels),
    ("dtype", lambda row: row.result.problem.dtype),
    ("result_dtype", lambda row: row.result.problem.result_dtype),
    ("mask", lambda row: row.result.mask_name),
    ("mask_rows", lambda row: row.result.problem.mask_shape[0]),
    ("mask_columns", lambda row: row.result.problem.mask_shape[1]),
    ("border", lambda row: str(row.result.problem.border)),
    *_spread_columns("kernel", lambda result: result.timing.kernel if result.timing else None),
    *_spread_columns("end_to_end", lambda result: result.timing.end_to_end if result.timing else None),
    *_spread_columns(
        "host_to_device", lambda result: result.timing.host_to_device if result.timing else None
    ),
    *_spread_columns(
        "device_to_host", lambda result: result.timing.device_to_host if result.timing else None
    ),
    ("compile_ms", _timed(lambda result: result.timing.compile_ms if result.timing else None)),
    ("allocate_ms", _timed(lambda result: result.timing.allocate_ms if result.timing else None)),
    ("samples", _timed(lambda result: len(result.timing.kernel.samples_ms) if result.timing else None)),
    ("clock", _timed(lambda result: result.timing.clock if result.timing else None)),
    ("cache", _timed(lambda result: result.timing.cache if result.timing else None)),
    ("speed_up", lambda row: row.speed_up),
    ("baseline", lambda row: None),
    ("verified", lambda row: "yes" if row.result.verification and row.result.verification.passed else "no"),
    ("max_error", lambda row: row.result.verification.max_error if row.result.verification else None),
    ("error_bound", lambda row: row.result.verification.bound if row.result.verification else None),
    ("status", lambda row: row.result.status),
    *(_work_column(name) for name in work_columns(None)),
    ("seed", lambda row: row.result.seed),
    ("device_name", lambda row: row.result.environment.device),
    ("driver", lambda row: row.result.environment.driver),
    ("clocks", lambda row: row.result.environment.clocks),
    ("versions", _versions),
    ("commit", lambda row: row.result.environment.commit),
)
