"""SharedArray: an array in shared memory, by name; which segments a request or a reply holds."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SharedArray:
    """An array in shared memory: the name of its segment, where it begins there, its shape and type."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    first_byte: int = 0


@dataclass(frozen=True, slots=True)
class Computed:
    """The values of a result that are not kept: each part is computed where it is asked for.

    `job` names the module that does it (`engine.host.result_values`). The picture that it reads is held by
    whoever shows it, and is no part of a reply.
    """

    job: Any


def segments_of(message: object) -> tuple[str, ...]:
    """Return the names of the segments that a request or a reply holds arrays of, each once.

    The arrays are found in its fields, through dataclasses and tuples.
    """
    return tuple(dict.fromkeys(array.name for array in _arrays(message)))


def _arrays(value: object) -> Iterator[SharedArray]:
    if isinstance(value, SharedArray):
        yield value
    elif isinstance(value, Computed):
        return
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name))
