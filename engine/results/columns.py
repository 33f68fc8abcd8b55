"""Columns of the tables of runs, for the window and the command line: facts in words, and every metric."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.mask.mask import names_size
from engine.results.compare import Compared
from engine.results.measurement import Measurement
from engine.results.metrics import Metric, metrics_of
from engine.results.quantities import MISSING
from engine.results.spreadsheet import harmless

KERNEL, SPEED_UP = "kernel_median_ms", "speed_up"


@dataclass(frozen=True, slots=True)
class Fact:
    """A column of words about a run; a metric is one of numbers."""

    key: str
    header: str
    explanation: str
    words: Callable[[Compared], str]  # the text of a cell of a run that has it
    # The number that it is sorted by, None for a row without one; else it is sorted by the text.
    number: Callable[[Compared], float | None] | None = None
    tasks: tuple[str, ...] = ()  # those that have it; empty: all
    shown: bool = True  # whether tables show it at first
    caption: str = ""  # shown once above the table where all rows have the same value; empty: never
    of_problem: bool = False  # whether it belongs to what is computed, not to how

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers, aligned on the right."""
        return self.number is not None and not self.of_problem

    def text(self, run: Compared) -> str:
        """Return the text of a cell, a dash for a run of another task."""
        return self.words(run) if self.is_of(run.result.task) else MISSING

    def sort(self, run: Compared) -> str | float | None:
        """Return the sort key of a run; None where it has no such number."""
        if not self.is_of(run.result.task):
            return None
        return self.words(run) if self.number is None else self.number(run)

    def is_of(self, task: str) -> bool:
        """Whether runs of a task have it."""
        return not self.tasks or task in self.tasks

    def pasted(self, run: Compared) -> str:
        """Return the text of a cell in one line, which no spreadsheet takes for a formula."""
        return harmless(" ".join(self.text(run).split()))


Column = Metric | Fact


def columns_of(*tasks: str, first: Iterable[str] = ()) -> tuple[Column, ...]:
    """Return every column of some tasks: those of `first`, then the other metrics, then the other facts."""
    found: dict[str, Column] = {metric.key: metric for task in tasks for metric in metrics_of(task)}
    found |= {fact.key: fact for fact in FACTS if any(map(fact.is_of, tasks))}
    order = dict.fromkeys((*(key for key in first if key in found), *found))
    return tuple(found[key] for key in order)


def repeated(columns: Sequence[Column], runs: Sequence[Compared]) -> dict[str, str]:
    """Return the facts that are the same for all runs, in words, by the key of their column."""
    found = {}
    for fact in FACTS:
        texts = {fact.text(run) for run in runs} if fact.caption and fact in columns else ()
        if len(texts) == 1:
            (text,) = texts
            found[fact.key] = "" if text == MISSING else fact.caption.format(text)
    return found


def problem_text(result: Measurement[Any]) -> str:
    """Return the problem of a run in words: 512 x 512 grey uint8, mask 3 x 3, border zero."""
    facts = [fact for fact in FACTS if fact.of_problem and fact.is_of(result.task)]
    return ", ".join(repeated(facts, [Compared(result)]).values())


def table_text(columns: Sequence[Column], runs: Iterable[Compared], baseline: str) -> str:
    """Return a table as lines with tabs, as spreadsheets and documents take them when pasted.

    Numbers have six significant digits, whatever the table shows.
    """
    headers = {column.key: column.header for column in columns} | {SPEED_UP: f"Speed-up vs {baseline}"}
    lines = [[headers[column.key] for column in columns]]
    lines += [[column.pasted(run) for column in columns] for run in runs]
    return "".join("\t".join(line) + "\n" for line in lines)


def mask_text(result: Measurement[Any]) -> str:
    """Return name and size of a mask, the size once; of one without a name of its own the size alone."""
    rows, columns = result.problem.mask_shape
    size, name = f"{rows} × {columns}", result.mask_name
    if name in ("", f"random {size}"):
        return size
    return name if names_size(name, rows, columns) else f"{name}, {size}"


def layout_suffix(result: Measurement[Any]) -> str:
    """Return " (packed)" for a run with packed rows; pitched rows are the default."""
    return " (packed)" if result.layout == "packed" else ""


def _threads(run: Compared) -> float | None:
    return float(run.result.block.threads) if run.result.block else None


def variant_name(result: Measurement[Any]) -> str:
    """Return the key; NumPy's product by its title, which says that it is a BLAS."""
    return result.title if result.task == "product" and result.block is None else result.variant


_FILTERING, _PRODUCT, _OPERATION = ("filtering",), ("product",), ("operation",)
_NETWORK = ("network",)
_PICTURES = (*_FILTERING, *_OPERATION)

# fmt: off
FACTS: tuple[Fact, ...] = (
    Fact("picture", "Picture, px",
         "Width × height, colours and sample type; that of the results where it is not float32. Sorted by "
         "the number of samples.",
         lambda run: run.result.problem.picture_text, lambda run: run.result.problem.samples,
         tasks=_PICTURES, caption="{}", of_problem=True),
    Fact("mask", "Mask", "Name and rows × columns of the mask. Sorted by the number of cells.",
         lambda run: mask_text(run.result), lambda run: run.result.problem.taps,
         tasks=_FILTERING, caption="mask {}", of_problem=True),
    Fact("border", "Border", "The rule for cells outside the picture.",
         lambda run: str(run.result.problem.border),
         tasks=_FILTERING, caption="border {}", of_problem=True),
    Fact("operation", "Operation", "The operation with its parameters.",
         lambda run: run.result.problem.operation_text,
         tasks=_OPERATION, caption="{}", of_problem=True),
    Fact("product", "Rows × inner × columns",
         "A is rows × inner, B is inner × columns; float32. Sorted by the number of multiply-adds.",
         lambda run: run.result.problem.size_text, lambda run: run.result.problem.multiply_adds,
         tasks=_PRODUCT, caption="{}", of_problem=True),
    Fact("batch", "Batch", "Drawings that pass through the network at once.",
         lambda run: run.result.problem.size_text, lambda run: run.result.problem.batch,
         tasks=_NETWORK, caption="{}", of_problem=True),
    Fact("variant", "Variant",
         "How it was computed. numpy (BLAS) is NumPy's own product on the CPU, for comparison.",
         lambda run: variant_name(run.result)),
    Fact("block", "Block", "Threads of a CUDA block, width × height. Kernels on the CPU have none.",
         lambda run: str(run.result.block or MISSING), _threads, tasks=_PICTURES),
    Fact("tile", "Tile",
         "Side of the square block of threads, and of matmul-tiled also of the tiles in shared memory.",
         lambda run: str(run.result.tile or MISSING), _threads, tasks=_PRODUCT),
    Fact("layout", "Rows",
         "How the rows of the picture lay in the GPU's memory: pitched, each from a 128-byte boundary on, "
         "or packed, each right after the one before. On the CPU they are always packed.",
         lambda run: run.result.layout or MISSING, tasks=_PICTURES, caption="{} rows"),
    Fact("device", "Device", "Where it ran.", lambda run: run.result.device, caption="{}"),
    Fact("run", "Run", "Number of the run, in the order in which they arrived.",
         lambda run: str(run.number), lambda run: run.number, shown=False),
    Fact("baseline_run", "Baseline run", "Number of the run that the speed-up is against.",
         lambda run: str(run.baseline_run or MISSING), lambda run: run.baseline_run, shown=False),
    Fact("proof", "Proof",
         "Whether the result agrees with the float64 reference within its rounding bound, or why not.",
         lambda run: run.result.status if run.result.is_refuted else run.result.proof),
)
# fmt: on
