"""What the engine's process is asked about scalings."""

from dataclasses import dataclass
from typing import ClassVar

from tests.architecture.scaling.problem import Scaling


@dataclass(frozen=True, slots=True)
class ScaleRequest:
    """Describe replies with the variants, Check with what they can do, Run with a result."""

    answers: ClassVar[str] = "tests.architecture.scaling.answers"
    problem: Scaling
    variant: str = "in-one-go"
    device: str = "cpu"
