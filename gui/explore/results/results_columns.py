"""The columns of the results table: header, what the header teaches, text of a cell, value to sort by.

The order is that of a glance at a narrow window: who, how fast, is it right; what was filtered comes after.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from engine.results.measurement import RunResult
from gui.engine_link.failure_text import why_no_time
from gui.explore.results.comparison import kernel_speed_ms, no_speed_word, problem_key
from engine.results.quantities import MISSING, error_text, ms_cell, ratio_text

SortValue = str | float | None


class Key(StrEnum):
    """Names of the columns, for code; the header is for people."""

    VARIANT = "variant"
    BLOCK = "block"
    LAYOUT = "layout"
    KERNEL = "kernel"
    SPEEDUP = "speedup"
    STATUS = "status"
    SPREAD = "spread"
    END_TO_END = "end to end"
    ERROR = "error"
    PICTURE = "picture"
    MASK = "mask"
    BORDER = "border"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Row:
    """A result with what depends on its neighbours: the speed-up against the baseline."""

    result: RunResult
    speed_up: float | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `sort` gives a number where people read one, None where there is none (sorted last)."""

    key: Key
    header: str
    teaches: str
    text: Callable[[Row], str]
    sort: Callable[[Row], SortValue]
    numeric: bool = False


def kernel_ms(row: Row) -> float | None:
    """Return the median kernel time, ms; None where the run has no speed."""
    return kernel_speed_ms(row.result)


def spread_ms(row: Row) -> float | None:
    """Return the width of the spread p20 to p80, ms."""
    timing = row.result.timing
    if timing is None or kernel_ms(row) is None:
        return None
    return timing.kernel.p80_ms - timing.kernel.p20_ms


def end_to_end_ms(row: Row) -> float | None:
    """Return the median end-to-end time, ms; None where the run has no speed."""
    timing = row.result.timing
    return timing.end_to_end.median_ms if timing and kernel_ms(row) is not None else None


def max_error(row: Row) -> float | None:
    """Return the largest error against the oracle, in the units of the pixels."""
    verification = row.result.verification
    return verification.max_error if verification else None


def status_text(result: RunResult) -> str:
    """Return the proof, or why there is none, short enough for a cell; the tooltip has the whole."""
    verification = result.verification
    if result.failure or verification is None or not verification.passed:
        return why_no_time(result) or "not verified"
    return "verified, exact" if verification.exact else "verified"


def _kernel_text(row: Row) -> str:
    return no_speed_word(row.result) or ms_cell(kernel_ms(row))


def _spread_text(row: Row) -> str:
    timing = row.result.timing
    if timing is None or kernel_ms(row) is None:
        return MISSING
    return f"{ms_cell(timing.kernel.p20_ms)} – {ms_cell(timing.kernel.p80_ms)}"


def _mask_text(row: Row) -> str:
    rows, columns = row.result.problem.mask_shape
    size = f"{rows} x {columns}"
    return f"{row.result.mask_name} {size}" if row.result.mask_name else size


def _block_text(row: Row) -> str:
    return str(row.result.block) if row.result.block else MISSING


COLUMNS: tuple[Column, ...] = (
    Column(
        Key.VARIANT,
        "Variant",
        "The way in which the filter was computed.",
        lambda row: row.result.variant,
        lambda row: row.result.variant,
    ),
    Column(
        Key.BLOCK,
        "Block",
        "Threads of a CUDA block, across x down. Kernels on the CPU have none.",
        _block_text,
        lambda row: float(row.result.block.threads) if row.result.block else None,
        numeric=True,
    ),
    Column(
        Key.KERNEL,
        "Kernel, ms",
        "Median time of the filtering alone, without copies and compilation.",
        _kernel_text,
        kernel_ms,
        numeric=True,
    ),
    Column(
        Key.SPEEDUP,
        "Speed-up",
        "How many times faster the kernel is than the newest run of the baseline on the same problem: "
        "same size, channels, types of picture and result, mask shape and border.",
        lambda row: ratio_text(row.speed_up),
        lambda row: row.speed_up,
        numeric=True,
    ),
    Column(
        Key.STATUS,
        "Proof",
        "Whether the result agrees with the float64 oracle within its rounding bound, or why not.",
        lambda row: status_text(row.result),
        lambda row: status_text(row.result),
    ),
    Column(
        Key.SPREAD,
        "p20 – p80, ms",
        "Three samples in five of the kernel time lie between these two. Sorted by their distance.",
        _spread_text,
        spread_ms,
        numeric=True,
    ),
    Column(
        Key.END_TO_END,
        "End to end, ms",
        "Median time from the picture in the host's memory to the result there: copies and kernel.",
        lambda row: ms_cell(end_to_end_ms(row)),
        end_to_end_ms,
        numeric=True,
    ),
    Column(
        Key.ERROR,
        "Max error",
        "Largest difference from the float64 oracle, in the units of the pixels.",
        lambda row: error_text(max_error(row)),
        max_error,
        numeric=True,
    ),
    Column(
        Key.LAYOUT,
        "Rows",
        "How the rows of the picture lay in the GPU's memory: pitched, each from a 128-byte boundary on, or packed, "
        "each right after the one before. On the CPU they are always packed.",
        lambda row: row.result.layout or MISSING,
        lambda row: row.result.layout or None,
    ),
    Column(
        Key.PICTURE,
        "Picture, px",
        "Width x height, colours and sample type; that of the results where it is not float32. Sorted by the number of "
        "samples.",
        lambda row: problem_key(row.result.problem).picture_text,
        lambda row: float(row.result.problem.samples),
    ),
    Column(
        Key.MASK,
        "Mask",
        "Name and rows x columns of the mask. Sorted by the number of cells.",
        _mask_text,
        lambda row: float(row.result.problem.taps),
    ),
    Column(
        Key.BORDER,
        "Border",
        "The rule for cells outside the picture.",
        lambda row: str(row.result.problem.border),
        lambda row: str(row.result.problem.border),
    ),
    Column(
        Key.DEVICE,
        "Device",
        "Where it ran.",
        lambda row: row.result.device,
        lambda row: row.result.device,
    ),
)

POSITION: dict[Key, int] = {column.key: position for position, column in enumerate(COLUMNS)}
