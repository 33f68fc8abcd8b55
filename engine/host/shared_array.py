"""SharedArray: an array in shared memory, by name; which segments a request or a reply holds."""

from typing import Annotated, Any

from msgspec import Meta

from engine.message import Message, messages_in


class SharedArray(Message, frozen=True):
    """An array in shared memory: the name of its segment, where it begins there, its shape and type."""

    name: Annotated[str, Meta(min_length=1, max_length=80)]
    shape: tuple[int, ...]
    dtype: str
    first_byte: Annotated[int, Meta(ge=0)] = 0


class Computed(Message, frozen=True):
    """The values of a result that are not kept: each part is computed where it is asked for.

    `job` names the module that does it (`engine.host.result_values`). The picture that it reads is held by
    whoever shows it, and is no part of a reply.
    """

    job: Any


def segments_of(message: object) -> tuple[str, ...]:
    """Return the names of the segments that a request or a reply holds arrays of, each once.

    What a `Computed` one reads is not among them.
    """
    found = (part.name for part in messages_in(message, Computed) if isinstance(part, SharedArray))
    return tuple(dict.fromkeys(found))
