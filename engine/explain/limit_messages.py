"""What is asked about the limits of a device. Without NumPy: the command `devices` starts without it."""

from typing import ClassVar

from engine.host.request import QueuePolicy, Request
from engine.message import Message


class KeptLimits(Message, Request, frozen=True):
    """Limits that were measured before, also during a run. Reply: `device_limits.DeviceLimits`, or None.

    Those of the device "recorded" came with the program.
    """

    device: str
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    handler: ClassVar[str] = "engine.explain.kept_limits:answer"


class MeasureLimits(Message, Request, frozen=True):
    """Measure the limits of a device, which takes 2 s, and keep them. Reply: as of KeptLimits.

    A cancelled request ends between two limits, and keeps none.
    """

    device: str
    handler: ClassVar[str] = "engine.explain.measured_cpu:answer"

    @property
    def answered_by(self) -> str:
        """The function that measures this kind of device: only that loads its code."""
        return self.handler if self.device == "cpu" else "engine.explain.gpu_limits_code:answer"
