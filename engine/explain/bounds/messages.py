"""What the window asks of the reason for a run's time, and the reply. No Numba in here."""

from dataclasses import dataclass
from typing import ClassVar

from engine.work.messages import PictureJob


@dataclass(frozen=True, slots=True)
class TimeRequest:
    """Describe: why a job takes its time. Reply: `engine.results.measurement.ExplainedTime`.

    What its kernels ask of memory is counted, 0.01 to 3 s, and kept by problem; a cancelled request ends
    within it. Limits of the device must have been measured (`MeasureLimits`).
    """

    answers: ClassVar[str] = "engine.explain.bounds.answers"
    is_quick: ClassVar[bool] = False
    job: PictureJob  # with a variant by its name, not "auto"
    measured_ms: float | None = None  # the median kernel time of its run
