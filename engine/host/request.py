"""Requests to a host: who answers each, how it waits, the file that it writes. No Numba and no Qt in here.

A request names the function that answers it. So no table does. A task can be asked three things of a job, to
check, preview and run it: the job names the module whose functions of these names answer.
The segments of shared memory that it and its reply hold are found in their fields
(`engine.host.request.segments_of`).
"""

from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from msgspec import Meta

from engine.device.per_thread import report_share
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.message import Message, messages_in
from engine.results.progress import Checkpoint, Progress


class QueuePolicy(StrEnum):
    """How requests wait: only the newest one counts, in order, or not for the running one.

    Those at once take a moment; those beside it, which have a thread of their own, up to a second.
    """

    NEWEST = "newest"
    IN_ORDER = "in order"
    AT_ONCE = "at once"
    BESIDE = "beside"


class Request:
    """What each kind of request has beside its fields."""

    __slots__ = ()
    policy: ClassVar[QueuePolicy] = QueuePolicy.IN_ORDER
    # The field with the file, or the folder of files, that it writes; empty for a kind that writes none.
    path_field: ClassVar[str] = ""
    # The function that answers it, "module:name".
    handler: ClassVar[str] = ""

    @property
    def answered_by(self) -> str:
        """The function that answers it, "module:name"; it gets the request and a checkpoint."""
        return self.handler

    @property
    def queue(self) -> QueuePolicy:
        """How it waits."""
        return self.policy

    @property
    def kind(self) -> tuple[type, ...]:
        """What it is a request of; where one of a kind ended two hosts, another one of it may not."""
        return (type(self),)

    def error_if_lost(self, reason: str) -> EngineError | None:
        """Return the error of this request where it is at fault for the end of its process, else None.

        Without a reason it was given up because it took too long.
        """
        return None

    @property
    def written_path(self) -> str:
        """The file or folder that it writes; empty for none."""
        return str(getattr(self, self.path_field)) if self.path_field else ""


def answer(request: Request, report: Checkpoint) -> Any:
    """Answer a request by the function that it names, whose module is imported for the first one.

    Raises what the function raises: an `EngineError` where the request cannot be answered.
    """
    module, _, name = request.answered_by.partition(":")
    with report_share.within(lambda done: report(Progress("interpreting", done, 10.0))):
        return getattr(import_module(module), name)(request, report)


@runtime_checkable
class Asked(Protocol):
    """A job of a task: `answers` is the module whose `check`, `preview` and `run` answer for it."""

    answers: ClassVar[str]


J = TypeVar("J", bound=Asked)


class TaskRequest(Request, Generic[J]):
    """Base class of what every task can be asked; `job` is the task's own request."""

    __slots__ = ()
    job: J

    @property
    def kind(self) -> tuple[type, ...]:
        """Its class and what it is asked of, which the task's request may say."""
        return type(self), getattr(self.job, "kind", type(self.job))

    @property
    def answered_by(self) -> str:
        """The function of its own name in the module that the task's request names."""
        return f"{self.job.answers}:{type(self).__name__.lower()}"


class Check(Message, TaskRequest[J], frozen=True):
    """Check which variants can do a job, also during a run. Reply: tuple of Availability.

    With blocks variants are crossed with them, and the reply has one for each: "auto" is the
    variant that it would choose; one without blocks is answered once. No variants: all.
    """

    job: J
    variants: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


class Seen(Message, frozen=True):
    """What of a result is on the screen: pixels of one of its levels, from the first to past the last."""

    level: int
    rows: tuple[int, int]
    columns: tuple[int, int]


class Preview(Message, TaskRequest[J], frozen=True):
    """Do a job once, as fast as the device allows, unverified and untimed; only the newest one counts.

    An engine on another machine sends what is `seen` of the result; the rest is asked for by tile. None: all.
    """

    job: J
    seen: Seen | None = None
    policy: ClassVar[QueuePolicy] = QueuePolicy.NEWEST


class Run(Message, TaskRequest[J], frozen=True):
    """Verify, warm up, sample for `budget_s` seconds. Reports progress. `seen` is as of a preview."""

    job: J
    budget_s: float = 0.5
    seen: Seen | None = None


class SharedArray(Message, frozen=True):
    """An array in shared memory: the name of its segment, where it begins there, its shape and type."""

    name: Annotated[str, Meta(min_length=1, max_length=80)]
    shape: tuple[int, ...]
    dtype: str
    first_byte: Annotated[int, Meta(ge=0)] = 0


class Computed(Message, frozen=True):
    """The values of a result that are not kept: each part is computed where it is asked for.

    `job` names the module that does it (`engine.host.shared_picture`). The picture that it reads is held by
    whoever shows it, and is no part of a reply.
    """

    job: Any


def segments_of(message: object) -> tuple[str, ...]:
    """Return the names of the segments that a request or a reply holds arrays of, each once.

    What a `Computed` one reads is not among them.
    """
    found = (part.name for part in messages_in(message, Computed) if isinstance(part, SharedArray))
    return tuple(dict.fromkeys(found))
