"""The toy task's problem, to multiply numbers by a factor; what tables tell of it, and requests."""

from typing import ClassVar

from engine.host.request import Request, VariantInfo
from engine.message import Message
from engine.results.columns import Fact
from engine.results.measurement import Measurement
from engine.results.metrics import Metric
from engine.results.text_forms import count_text


class Scaling(Message, frozen=True):
    task: ClassVar[str] = "scaling"
    columns_module: ClassVar[str] = "tests.architecture.scaling.problem"
    checked_unit: ClassVar[str] = "number"
    count: int
    factor: float

    size_text = subject = property(lambda self: f"{self.count} numbers")
    values = property(lambda self: self.count)
    simulator_limit = ""
    comparable = property(lambda self: self)
    copied_bytes = property(lambda self: 8 * self.count)

    def csv_columns(self):
        return {"count": self.count, "factor": self.factor}


def numbers_per_ms(run):
    return run.result.problem.count / run.result.kernel_ms if run.result.kernel_ms else None


_METRICS = (Metric("numbers_per_ms", "numbers per ms", "1/ms", "Its speed.", numbers_per_ms, count_text),)
_FACTS = (
    Fact(
        "factor",
        "Factor",
        "By which.",
        lambda run: f"times {run.result.problem.factor}",
        caption="{}",
        of_problem=True,
    ),
)
METRICS, FACTS = {"scaling": _METRICS}, {"scaling": _FACTS}


class ListScalings(Message, Request, frozen=True):
    """Ask for the variants."""

    handler: ClassVar[str] = "tests.architecture.scaling.task:describe"
    reply: ClassVar[object] = tuple[VariantInfo, ...]


class ScaleRequest(Message, frozen=True):
    """Check replies with what the variants can do, Run with a result."""

    answers: ClassVar[str] = "tests.architecture.scaling.task"
    reply: ClassVar[object] = Measurement[Scaling]
    problem: Scaling
    variant: str = "in-one-go"
    device: str = "cpu"
