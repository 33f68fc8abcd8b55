"""The toy task's problem: multiply numbers by a factor."""

from typing import ClassVar

from engine.message import Message


class Scaling(Message, frozen=True):
    task: ClassVar[str] = "scaling"
    columns_module: ClassVar[str] = "tests.architecture.scaling.columns"
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
