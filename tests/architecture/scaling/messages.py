"""What the engine's process is asked about scalings."""

from typing import ClassVar

from engine.host.request import Request
from engine.message import Message
from tests.architecture.scaling.problem import Scaling


class ListScalings(Message, Request, frozen=True):
    """Ask for the variants."""

    handler: ClassVar[str] = "tests.architecture.scaling.answers:describe"


class ScaleRequest(Message, frozen=True):
    """Check replies with what the variants can do, Run with a result."""

    answers: ClassVar[str] = "tests.architecture.scaling.answers"
    problem: Scaling
    variant: str = "in-one-go"
    device: str = "cpu"
