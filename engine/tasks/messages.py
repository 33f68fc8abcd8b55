"""What the engine's process is asked about recorded runs, and its reply."""

from typing import ClassVar

from engine.mask.mask import Mask
from engine.message import Message
from engine.work.filtering.problem import Problem
from engine.work.filtering.results import RunResult


class RecordedRequest(Message, frozen=True):
    """Describe: recorded runs for a problem. Reply: RecordedRuns."""

    answers: ClassVar[str] = "engine.tasks.recorded_runs"
    problem: Problem
    mask: Mask  # flipped and normalised already


class RecordedRuns(Message, frozen=True):
    """Recorded runs, one of each variant; `note` says how they differ from the problem, or why none is."""

    runs: tuple[RunResult, ...] = ()
    note: str = ""
