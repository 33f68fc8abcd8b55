"""What the two sides of a line say to each other: the engine's own messages, and those of the line."""

import hashlib
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from engine.errors import CodeNotKept
from engine.host.messages import Answer, Cancel, Ready, Superseded, ToHost, Working
from engine.host.process import HostOptions
from engine.remote.schema import Key, Number, NumberType, Shape, name_of, types_of


@dataclass(frozen=True, slots=True)
class Begin:
    """The first message to a server: the version of the program, the server's name, how its engine is."""

    version: Annotated[str, Meta(max_length=80)]
    title: Annotated[str, Meta(max_length=400)]
    options: HostOptions


@dataclass(frozen=True, slots=True)
class Arrays:
    """Pixels follow, with these shapes and types. `request` is what they answer, or 0."""

    key: Key
    forms: Annotated[
        tuple[tuple[Annotated[Shape, Meta(min_length=1)], NumberType], ...], Meta(max_length=4096)
    ]
    request: Number = 0


@dataclass(frozen=True, slots=True)
class Band:
    """So many rows of one of those arrays lie beside this message, packed as `codec` says."""

    key: Key
    array: Number
    first: Number
    rows: Annotated[int, Meta(gt=0)]
    codec: str


@dataclass(frozen=True, slots=True)
class Needed:
    """The server has no pixels of this digest any more, and a request waits for them."""

    key: Key


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written on the server: its place below what a request names.

    Without a place it is what the request names.
    """

    request: Number
    place: Annotated[str, Meta(max_length=400)]
    key: Key


TO_SERVER = Begin | ToHost | Cancel | Superseded | Arrays | Band
FROM_SERVER = Ready | Answer | Working | CodeNotKept | Arrays | Band | Needed | Written

_KINDS = sorted({*TO_SERVER.__args__, *FROM_SERVER.__args__}, key=name_of)
DIGEST = hashlib.blake2b(
    repr([(name_of(kind), [*types_of(kind)]) for kind in _KINDS]).encode(), digest_size=8
).hexdigest()
"""Of the fields of these; what is in them says the names of its own."""
