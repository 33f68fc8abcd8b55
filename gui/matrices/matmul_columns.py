"""The columns of the table of products: header, what the header teaches, text of a cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.results.product import MatmulResult
from engine.results.spreadsheet import harmless
from engine.tasks.product.lecture import LECTURE_BANDWIDTH_GB_S, LECTURE_DEVICE
from engine.results.quantities import MISSING, digits_text, error_text, ms_cell, ms_text


class Key(StrEnum):
    """Names of the columns, for code; the header is for people."""

    VARIANT = "variant"
    TILE = "tile"
    KERNEL = "kernel"
    GFLOPS = "gflops"
    CGMA = "cgma"
    LECTURE = "lecture"
    LIMIT = "limit"
    REACHED = "reached"
    ERROR = "error"
    BOUND = "bound"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    key: Key
    header: str
    teaches: str
    text: Callable[[MatmulResult], str]
    numeric: bool = True


def name_of(result: MatmulResult) -> str:
    """Return what a row is called: NumPy by its title, which says that it is a BLAS."""
    return result.title if result.tile is None else result.variant


def status_text(result: MatmulResult) -> str:
    """Return the proof, or why there is none, short enough for a cell; the tooltip has the whole."""
    if result.failure:
        return short_reason(result.failure)
    proof = result.verification
    if proof is None:
        return "not run yet"
    if not proof.passed:
        return proof.reason
    words = "verified, exact" if proof.exact else "verified"
    return words if result.timing else f"{words}, simulated"


def short_reason(failure: str) -> str:
    """Return why something failed, without what failed and what would do: both are beside it."""
    return failure.partition(": ")[2].split(". ")[0].rstrip(".") or failure


def row_tooltip(result: MatmulResult) -> str:
    """Return a row in words."""
    lines = [f"{name_of(result)}{f', tile {result.tile}' if result.tile else ''} on {result.device}"]
    if result.timing and result.kernel_ms is not None:
        kernel = result.timing.kernel
        lines.append(
            f"Kernel {ms_text(kernel.median_ms)} (p20 {ms_text(kernel.p20_ms)}, p80 {ms_text(kernel.p80_ms)}, "
            f"{len(kernel.samples_ms)} samples), compiling {ms_text(result.timing.compile_ms)}"
        )
        if result.timing.host_to_device and result.timing.device_to_host:
            lines.append(
                f"Copies in {ms_text(result.timing.host_to_device.median_ms)}, "
                f"out {ms_text(result.timing.device_to_host.median_ms)}"
            )
    if result.work is not None:
        lines.append(
            f"Counted: {result.work.global_loads:,} loads from global memory, "
            f"{result.work.shared_loads:,} from shared memory"
        )
    lines.append(result.status)
    return "\n".join(lines)


def number_text(value: float | None) -> str:
    """Write a rate or a ratio."""
    return MISSING if value is None else digits_text(value, 4)


def _cgma_text(value: float | None) -> str:
    return MISSING if value is None else f"{value:.4g}"


def _share_text(share: float | None) -> str:
    return MISSING if share is None else f"{digits_text(100 * share, 3)} %"


COLUMNS: tuple[Column, ...] = (
    Column(
        Key.VARIANT,
        "Variant",
        "The way to multiply. numpy (BLAS) is NumPy's own product on the CPU, for comparison.",
        name_of,
        numeric=False,
    ),
    Column(
        Key.TILE,
        "Tile",
        "Side of the square block of threads, and of matmul-tiled also of the tiles in shared memory.",
        lambda result: str(result.tile or MISSING),
    ),
    Column(
        Key.KERNEL,
        "Kernel, ms",
        "Median time of the product alone, without copies and compilation.",
        lambda result: ms_cell(result.kernel_ms),
    ),
    Column(
        Key.GFLOPS,
        "GFLOPS",
        "10⁹ operations a second: 2 × rows × inner × columns over the kernel's time.",
        lambda result: number_text(result.gflops),
    ),
    Column(
        Key.CGMA,
        "CGMA",
        "Compute to global memory access: operations for each load from global memory, counted from the kernel's "
        "source and not measured. Nobody can say it of a BLAS.",
        lambda result: _cgma_text(result.cgma),
    ),
    Column(
        Key.LECTURE,
        f"At {LECTURE_BANDWIDTH_GB_S} GB/s",
        f"GFLOPS that the lecture's {LECTURE_DEVICE} allows: {LECTURE_BANDWIDTH_GB_S} GB/s ÷ 4 bytes × CGMA.",
        lambda result: number_text(result.lecture_gflops),
    ),
    Column(
        Key.LIMIT,
        "Allowed here",
        "GFLOPS that this device's theoretical bandwidth allows: bandwidth ÷ 4 bytes × CGMA; caches are left out.",
        lambda result: number_text(result.limited_gflops),
    ),
    Column(
        Key.REACHED,
        "Reached",
        "Measured GFLOPS over those that the bandwidth allows. Over 100 % where caches serve what is counted as loads.",
        lambda result: _share_text(result.share_of_limit),
    ),
    Column(
        Key.ERROR,
        "Max error",
        "Largest difference from the float64 oracle.",
        lambda result: error_text(result.verification.max_error if result.verification else None),
    ),
    Column(
        Key.BOUND,
        "Bound",
        "How far rounding may take the element with the largest error: γ |A| |B|.",
        lambda result: error_text(result.verification.bound if result.verification else None),
    ),
    Column(
        Key.STATUS,
        "Proof",
        "Whether the product agrees with the float64 oracle within its rounding bound, or why there is none.",
        status_text,
        numeric=False,
    ),
)


def clipboard_text(rows: Sequence[MatmulResult]) -> str:
    """Return the table as lines with tabs, as a spreadsheet takes them."""
    lines = [[column.header for column in COLUMNS]]
    lines += [[str(harmless(column.text(row))) for column in COLUMNS] for row in rows]
    return "".join("\t".join(" ".join(text.split()) for text in line) + "\n" for line in lines)
