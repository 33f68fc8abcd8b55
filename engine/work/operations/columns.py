"""What tables and files tell of a run of an operation, beside what they tell of every run."""

from engine.results.columns import Fact
from engine.results.metrics import Metric
from engine.work.operations.problem import OperationProblem
from engine.work.picture_columns import BLOCK, LAYOUT, PICTURE

METRICS: tuple[Metric[OperationProblem], ...] = ()
# fmt: off
FACTS: tuple[Fact[OperationProblem], ...] = (
    PICTURE,
    Fact("operation", "Operation", "The operation with its parameters.",
         lambda run: run.result.problem.operation_text, caption="{}", of_problem=True),
    BLOCK,
    LAYOUT,
)
# fmt: on
