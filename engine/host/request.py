"""The base class of requests to a host: who answers it, queue policy, device, and the file that is written.

What is asked of a task is one of the four verbs of `engine.host.verbs` with the task's own request; a request
of another kind is a frozen dataclass that derives from `Request`. Each names the function that answers it, so
that no table does. The segments of shared memory that it and its reply hold are found in their fields
(`engine.host.shared_array.segments_of`).
"""

from enum import StrEnum
from importlib import import_module
from typing import Any, ClassVar

from engine.device.selected import heard_by
from engine.errors import EngineError
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
    """Base class of the frozen dataclass of each kind of request."""

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

    def error_if_ended(self, reason: str) -> EngineError | None:
        """Return the error of this request where it is at fault for the end of its process, else None."""
        return None

    def error_if_late(self) -> EngineError | None:
        """Return its error where it is given up because it takes too long; None: its process is at fault."""
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
    with heard_by(lambda done: report(Progress("interpreting", done, 10.0))):
        return getattr(import_module(module), name)(request, report)
