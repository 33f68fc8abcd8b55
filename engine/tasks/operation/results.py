"""The result of a run of an operation."""

from typing import TYPE_CHECKING

from engine.results.measurement import Measurement

if TYPE_CHECKING:
    from engine.tasks.operation.problem import OperationProblem

    OperationResult = Measurement[OperationProblem]
else:
    # Scripts ask `isinstance(result, ...)`; a class with its parameter cannot answer.
    OperationResult = Measurement
