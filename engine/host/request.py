"""Requests to a host: who answers each, how it waits, the file that it writes. No Numba and no Qt in here.

A request names the function that answers it. Every task takes three requests for a job, to check,
preview and run it: the job names the module whose functions of these names answer.
"""

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from multiprocessing.connection import Connection
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Protocol,
    Self,
    TypeVar,
    runtime_checkable,
)

from msgspec import Meta

from engine.device_info import DeviceInfo
from engine.errors import EngineError
from engine.geometry.block import Block, Refusal
from engine.message import Message, messages_in
from engine.process import report_share
from engine.results.problem import Checkpoint, Progress

if TYPE_CHECKING:
    # The window starts without it.
    from engine.run.variant import AnyVariant


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
    # The function that answers it, "module:name"; the type of its reply, of a `Preview` or `Run` its job's.
    handler: ClassVar[str] = ""
    reply: ClassVar[object] = None

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
        """Return the error of a request that ended its process, if any; without a reason it took too long."""
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
class TaskJob(Protocol):
    """A job of a task: `answers` is the module whose `check`, `preview` and `run` answer for it.

    `reply` is the type of what a preview, or a run, replies.
    """

    answers: ClassVar[str]
    reply: ClassVar[object]


J = TypeVar("J", bound=TaskJob)


class TaskRequest(Request, Generic[J]):
    """Base class of the requests that every task takes; `job` is the task's own request."""

    __slots__ = ()
    job: J

    @property
    def kind(self) -> tuple[type, ...]:
        """Its class and the kind of its job, which the task's request may name."""
        return type(self), getattr(self.job, "kind", type(self.job))

    @property
    def answered_by(self) -> str:
        """The function of its own name in the module that the task's request names."""
        return f"{self.job.answers}:{type(self).__name__.lower()}"


class Availability(Message, frozen=True):
    """Why one variant cannot do a job, None if it can; with the block, where several blocks were requested.

    There is no block where it does not matter: for a variant without blocks, or one that no block helps.
    """

    variant: str
    reason: Refusal | None = None
    block: Block | None = None

    @classmethod
    def of(cls, variant: str, refuse: Callable[[], object]) -> Self:
        """Return whether a variant can do a job: `refuse` raises an `EngineError` where not."""
        try:
            refuse()
        except EngineError as error:
            return cls(variant, Refusal.of(error.reason))
        return cls(variant)

    @property
    def nearest_block(self) -> Block | None:
        """The nearest legal block, where another block helps."""
        return self.reason.nearest_block if isinstance(self.reason, Refusal) else None


class Check(Message, TaskRequest[J], frozen=True):
    """Check which variants can do a job, also during a run.

    With blocks variants are crossed with them, and the reply has one for each: "auto" is the
    variant that it would choose; one without blocks is answered once. No variants: all.
    """

    job: J
    variants: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    reply: ClassVar[object] = tuple[Availability, ...]


class Seen(Message, frozen=True):
    """What of a result is on the screen: pixels of one of its levels, from the first to past the last."""

    level: int
    rows: tuple[int, int]
    columns: tuple[int, int]


class Preview(Message, TaskRequest[J], frozen=True):
    """Do a job once, as fast as the device allows, unverified and untimed; only the newest one counts.

    An engine on another machine sends what is `seen` of the result; the rest is requested by tile. None: all.
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


class ComputedResult(Message, frozen=True):
    """The values of a result that are not kept: each part is computed where it is requested.

    `job` names the module that does it (`engine.host.shared_picture`). The picture that it reads is held by
    whoever shows it, and is no part of a reply.
    """

    job: Any


def segments_of(message: object) -> tuple[str, ...]:
    """Return the names of the segments whose arrays a message holds, but what a `ComputedResult` reads."""
    names = (part.name for part in messages_in(message, ComputedResult) if isinstance(part, SharedArray))
    return tuple(dict.fromkeys(names))


class VariantInfo(Message, frozen=True):
    """A variant, as the window shows it; `remark` is a note on its use, `group` that in a list of many."""

    key: str
    title: str
    kind: str
    idea: str
    default_block: Block
    uses_block: bool
    remark: str = ""
    group: str = ""

    @property
    def heading(self) -> str:
        """The group, or the kind where there is none."""
        return self.group or self.kind.upper()

    @classmethod
    def of(cls, v: "AnyVariant") -> "VariantInfo":
        """Return a variant as it is shown."""
        return cls(v.key, v.title, v.device.value, v.idea, v.default_block, v.uses_block, v.remark, v.group)


class Ready(Message, frozen=True):
    """The host is up, with the variants that its options ask for, and its devices."""

    variants: tuple[VariantInfo, ...]
    devices: tuple[DeviceInfo, ...]


class ToHost(Message, frozen=True):
    """The envelope of a request."""

    id: int
    request: Request


class Cancel(Message, frozen=True):
    """Cancel request `id` between two launches or samples."""

    id: int


class Superseded(Message, frozen=True):
    """A newer preview waits for the answer to request `id`: do not send much more of it over a slow line."""

    id: int


class Release(Message, frozen=True):
    """The client has released these segments of shared memory."""

    names: tuple[str, ...]


class Stop(Message, frozen=True):
    """End the process in order."""


class Reply(Message, frozen=True):
    """The reply to a request. `fatal`: the host is lost for CUDA and ends itself after this."""

    id: int
    value: object = None
    error: EngineError | None = None
    fatal: bool = False


class Working(Message, frozen=True):
    """Request `id` has reported progress."""

    id: int
    progress: Progress


class HostOptions(Message, frozen=True):
    """Choices that hold for the whole life of a host process."""

    use_cuda: bool = True  # False after repeated faults: the CPU for the rest of the session
    segment_prefix: str = ""  # of its segments' names, so that its client finds them; empty: any
    described: Request | None = None  # the request for the variants that it names when it says that it is up


Serve = Callable[[Connection, HostOptions], None]
"""What a child process does, named by its module: serve requests until the pipe closes or `Stop` comes."""
