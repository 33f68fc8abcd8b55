"""The result of a run of an operation."""

from engine.results.measurement import Measurement
from engine.work.operations.problem import OperationProblem

OperationResult = Measurement[OperationProblem]
