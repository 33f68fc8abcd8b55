"""The result of a run of an operation."""

from engine.results.measurement import Measurement
from engine.tasks.operation.problem import OperationProblem

OperationResult = Measurement[OperationProblem]
