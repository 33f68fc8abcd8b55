"""The envelopes of requests and replies, and what else client and host tell one another.

No Numba and no Qt in here.
"""

from dataclasses import dataclass

from engine.device_info import DeviceInfo
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.host.request import Request
from engine.results.progress import Progress


@dataclass(frozen=True, slots=True)
class VariantInfo:
    """A variant, as the window shows it; `remark` is what a person should know before using it."""

    key: str
    title: str
    kind: str
    idea: str
    default_block: Block
    uses_block: bool
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """The host is up: what it can do."""

    variants: tuple[VariantInfo, ...]
    devices: tuple[DeviceInfo, ...]


@dataclass(frozen=True, slots=True)
class ToHost:
    """The envelope of a request."""

    id: int
    request: Request


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop request `id` between two launches or samples."""

    id: int


@dataclass(frozen=True, slots=True)
class Release:
    """The client needs these segments of shared memory no longer."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process in order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with. `fatal`: the host is lost for CUDA and ends itself after this."""

    id: int
    value: object = None
    error: EngineError | None = None
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class Working:
    """Progress of request `id`."""

    id: int
    progress: Progress
