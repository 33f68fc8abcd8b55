"""What the engine's process is asked about scalings."""

from typing import ClassVar

from engine.message import Message
from tests.architecture.scaling.problem import Scaling


class ScaleRequest(Message, frozen=True):
    """Describe replies with the variants, Check with what they can do, Run with a result."""

    answers: ClassVar[str] = "tests.architecture.scaling.answers"
    problem: Scaling
    variant: str = "in-one-go"
    device: str = "cpu"
