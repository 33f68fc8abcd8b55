"""The messages between client and host: envelopes of requests and replies, and events.

No Numba and no Qt in here.
"""

from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Self

from engine.device_info import DeviceInfo
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.host.request import Request
from engine.message import Message
from engine.results.progress import Progress

if TYPE_CHECKING:
    # The window starts without it.
    from engine.run.variant import AnyVariant


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
    def of(cls, v: "AnyVariant") -> Self:
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


class Lost(Message, frozen=True):
    """The process ends after this, because the other machine is not reached (any more)."""

    error: EngineError


class Release(Message, frozen=True):
    """The client has released these segments of shared memory."""

    names: tuple[str, ...]


class Stop(Message, frozen=True):
    """End the process in order."""


class Answer(Message, frozen=True):
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
