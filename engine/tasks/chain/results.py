"""The result of a run of a chain, and what each of its steps took."""

from dataclasses import dataclass

from engine.results.measurement import Measurement
from engine.tasks.chain.problem import ChainProblem

ChainResult = Measurement[ChainProblem]


@dataclass(frozen=True, slots=True)
class StepTime:
    """A step with what computes it; no time where it is not measured by itself (a GPU, the simulator)."""

    id: str
    title: str
    variant: str
    ms: float | None = None
