"""The messages of a line: what a client sends to a server, and what a server sends to its client.

Limits stand beside the fields. A request, and a reply, has those of its own type.
"""

import hashlib
from typing import Annotated

from msgspec import Meta

from engine.errors import CodeNotKept
from engine.host.request import Cancel, HostOptions, Ready, Reply, Superseded, ToHost, Working
from engine.message import Message, name_of

Key = Annotated[str, Meta(min_length=1, max_length=80)]
"""What arrays are called on the line: a digest of their bytes, or what they answer."""
Number = Annotated[int, Meta(ge=0)]
Shape = Annotated[tuple[Number, ...], Meta(max_length=8)]
NumberType = Annotated[str, Meta(pattern=r"^(bool|u?int(8|16|32|64)|float(32|64))$")]


class Hello(Message, frozen=True):
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


class ArrayRows(Message, frozen=True):
    """So many rows of one of those arrays lie beside this message, packed as `codec` says."""

    key: Key
    array: Number
    first: Number
    rows: Annotated[int, Meta(gt=0)]
    codec: str


class Needed(Message, frozen=True):
    """The server has no pixels of this digest, and a request waits for them."""

    key: Key


class Notice(Message, frozen=True):
    """Compiled code cannot be kept there."""

    words: CodeNotKept


class Written(Message, frozen=True):
    """A file that was written on the server: its place below what a request names; empty: that itself."""

    request: Number
    place: Annotated[str, Meta(max_length=400)]
    key: Key


TO_SERVER = Hello | ToHost | Cancel | Superseded | Arrays | ArrayRows
FROM_SERVER = Ready | Reply | Working | Notice | Arrays | ArrayRows | Needed | Written

_KINDS = {name_of(kind): kind.__struct_fields__ for kind in (*TO_SERVER.__args__, *FROM_SERVER.__args__)}
DIGEST = hashlib.blake2b(repr(sorted(_KINDS.items())).encode(), digest_size=8).hexdigest()
"""Of the fields of these; what is in them says the names of its own."""
