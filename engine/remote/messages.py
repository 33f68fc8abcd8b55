"""What the two sides of a line say to each other: the engine's own messages, and those of the line."""

import hashlib
from typing import Annotated

from msgspec import Meta

from engine.errors import CodeNotKept
from engine.host.messages import Answer, Cancel, Ready, Superseded, ToHost, Working
from engine.host.process import HostOptions
from engine.message import Message, name_of
from engine.remote.schema import Key, Number, NumberType, Shape


class Begin(Message, frozen=True):
    """The first message to a server: the version of the program, the server's name, how its engine is."""

    version: Annotated[str, Meta(max_length=80)]
    title: Annotated[str, Meta(max_length=400)]
    options: HostOptions


class Arrays(Message, frozen=True):
    """Pixels follow, with these shapes and types. `request` is what they answer, or 0."""

    key: Key
    forms: Annotated[
        tuple[tuple[Annotated[Shape, Meta(min_length=1)], NumberType], ...], Meta(max_length=4096)
    ]
    request: Number = 0


class Band(Message, frozen=True):
    """So many rows of one of those arrays lie beside this message, packed as `codec` says."""

    key: Key
    array: Number
    first: Number
    rows: Annotated[int, Meta(gt=0)]
    codec: str


class Needed(Message, frozen=True):
    """The server has no pixels of this digest any more, and a request waits for them."""

    key: Key


class Notice(Message, frozen=True):
    """Compiled code cannot be kept there."""

    words: CodeNotKept


class Written(Message, frozen=True):
    """A file that was written on the server: its place below what a request names.

    Without a place it is what the request names.
    """

    request: Number
    place: Annotated[str, Meta(max_length=400)]
    key: Key


TO_SERVER = Begin | ToHost | Cancel | Superseded | Arrays | Band
FROM_SERVER = Ready | Answer | Working | Notice | Arrays | Band | Needed | Written

_KINDS = {name_of(kind): kind.__struct_fields__ for kind in (*TO_SERVER.__args__, *FROM_SERVER.__args__)}
DIGEST = hashlib.blake2b(repr(sorted(_KINDS.items())).encode(), digest_size=8).hexdigest()
"""Of the fields of these; what is in them says the names of its own."""
