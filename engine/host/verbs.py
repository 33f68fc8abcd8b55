"""What can be asked of every task: describe, check, preview and run, each with a request of the task's own.

Such a request is a frozen dataclass of plain data. It names the module that answers it, with a function for
each verb that it can be asked by.
"""

from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from engine.geometry.block import Block
from engine.host.request import QueuePolicy, Request


class Asked(Protocol):
    """What a task is asked: `answers` is the module whose `describe`, `check`, `preview`, `run` answer it."""

    answers: ClassVar[str]


J = TypeVar("J", bound=Asked)


class Verb(Request, Generic[J]):
    """Base class of the verbs; `job` is the request of a task."""

    __slots__ = ()
    computes: ClassVar[bool] = False  # where the job's device is; questions are answered by the real host
    job: J

    @property
    def kind(self) -> tuple[type, ...]:
        """The verb and what it is asked of, which the request may say."""
        return type(self), getattr(self.job, "kind", type(self.job))

    @property
    def answered_by(self) -> str:
        """The function of the verb's name in the module that the task's request names."""
        return f"{self.job.answers}:{type(self).__name__.lower()}"


@dataclass(frozen=True, slots=True)
class Describe(Verb[J]):
    """Say what is known without computing, also during a run. Reply: as the task's request says."""

    job: J

    @property
    def queue(self) -> QueuePolicy:
        """At once, but for a request that takes long, which says so (`is_quick`)."""
        return QueuePolicy.AT_ONCE if getattr(self.job, "is_quick", True) else QueuePolicy.IN_ORDER


@dataclass(frozen=True, slots=True)
class Check(Verb[J]):
    """Check which variants can do a job, also during a run. Reply: tuple of Availability.

    With blocks variants are crossed with them, and the reply is a tuple of BlockAvailability: "auto" is the
    variant that it would choose; one without blocks is answered once. No variants: all.
    """

    job: J
    variants: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class Seen:
    """What of a result is on the screen: pixels of one of its levels, from the first to past the last."""

    level: int
    rows: tuple[int, int]
    columns: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Preview(Verb[J]):
    """Do a job once, as fast as the device allows, unverified and untimed; only the newest one counts.

    An engine on another machine sends what is `seen` of the result; the rest is asked for by tile. None: all.
    """

    job: J
    seen: Seen | None = None
    policy: ClassVar[QueuePolicy] = QueuePolicy.NEWEST
    computes: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Run(Verb[J]):
    """Verify, warm up, sample for `budget_s` seconds. Reports progress. `seen` is as of a preview."""

    job: J
    budget_s: float = 0.5
    seen: Seen | None = None
    computes: ClassVar[bool] = True
