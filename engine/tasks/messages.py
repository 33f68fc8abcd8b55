"""The request for recorded runs, and the reply of the engine's process."""

from typing import ClassVar

from engine.host.request import QueuePolicy, Request
from engine.mask.mask import Mask
from engine.message import Message
from engine.work.columns import RunResult
from engine.work.problem import Problem


class RecordedRuns(Message, frozen=True):
    """Recorded runs, one of each variant; `note` says how they differ from the problem, or why none is."""

    runs: tuple[RunResult, ...] = ()
    note: str = ""


class RecordedRequest(Message, Request, frozen=True):
    """Ask for recorded runs for a problem."""

    handler: ClassVar[str] = "engine.tasks.read_results:describe"
    reply: ClassVar[object] = RecordedRuns
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    problem: Problem
    mask: Mask  # flipped and normalised already
