"""Progress of a run or a request: reported by the pipeline, passed on by the host and the window."""

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """A step of a run, or of a request, begins."""

    stage: str  # in words: "compiling", "verifying", "sampling 12 of 30"
    fraction: float  # done so far, 0 to 1
    expected_s: float  # the client gives up on the host after ten times that, and never before 5 s


Checkpoint = Callable[[Progress], None]
"""Called before each step; raises `Cancelled` where the person stopped the run."""


def go_on(step: Progress) -> None:
    """Do not stop."""
