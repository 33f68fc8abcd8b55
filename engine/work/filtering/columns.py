"""What tables and files tell of a run of a filter, beside what they tell of every run."""

from engine.mask.mask import names_size
from engine.results.columns import Fact
from engine.results.measurement import Measurement
from engine.results.metrics import Metric
from engine.work.filtering.problem import Problem
from engine.work.picture_columns import BLOCK, LAYOUT, PICTURE


def mask_text(result: Measurement[Problem]) -> str:
    """Return name and size of a mask, the size once; of one without a name of its own the size alone."""
    rows, columns = result.problem.mask_shape
    size, name = f"{rows} × {columns}", result.mask_name
    if name in ("", f"random {size}"):
        return size
    return name if names_size(name, rows, columns) else f"{name}, {size}"


METRICS: tuple[Metric[Problem], ...] = ()
# fmt: off
FACTS: tuple[Fact[Problem], ...] = (
    PICTURE,
    Fact("mask", "Mask", "Name and rows × columns of the mask. Sorted by the number of cells.",
         lambda run: mask_text(run.result), lambda run: run.result.problem.taps,
         caption="mask {}", of_problem=True),
    Fact("border", "Border", "The rule for cells outside the picture.",
         lambda run: str(run.result.problem.border), caption="border {}", of_problem=True),
    BLOCK,
    LAYOUT,
)
# fmt: on
