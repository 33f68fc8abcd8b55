"""The messages between client and host: envelopes of requests and replies, and events.

No Numba and no Qt in here.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from engine.device_info import DeviceInfo
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.host.request import Request
from engine.results.progress import Progress

if TYPE_CHECKING:
    # The window starts without it.
    from engine.run.variant import AnyVariant


@dataclass(frozen=True, slots=True)
class VariantInfo:
    """A variant, as the window shows it; `remark` is a note on its use, `group` its heading in a list."""

    key: str
    title: str
    kind: str
    idea: str
    default_block: Block
    uses_block: bool
    remark: str = ""
    group: str = ""

    @classmethod
    def of(cls, v: "AnyVariant") -> Self:
        """Return a variant as it is shown."""
        return cls(v.key, v.title, v.device.value, v.idea, v.default_block, v.uses_block, v.remark, v.group)


@dataclass(frozen=True, slots=True)
class Ready:
    """The host is up, with the variants that its options ask for, and its devices."""

    variants: tuple[VariantInfo, ...]
    devices: tuple[DeviceInfo, ...]


@dataclass(frozen=True, slots=True)
class ToHost:
    """The envelope of a request."""

    id: int
    request: Request


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel request `id` between two launches or samples."""

    id: int


@dataclass(frozen=True, slots=True)
class Superseded:
    """A newer preview waits for the answer to request `id`: do not send much more of it over a slow line."""

    id: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The process ends after this, because the other machine is not reached (any more)."""

    error: EngineError


@dataclass(frozen=True, slots=True)
class Release:
    """The client has released these segments of shared memory."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process in order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to a request. `fatal`: the host is lost for CUDA and ends itself after this."""

    id: int
    value: object = None
    error: EngineError | None = None
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class Working:
    """Request `id` has reported progress."""

    id: int
    progress: Progress
