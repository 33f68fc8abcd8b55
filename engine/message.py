"""What crosses to another process or machine: plain data that is known there by its name."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct, StructMeta, structs

PACKAGE = f"{__name__.partition('.')[0]}."


def _name(module: str, name: str) -> str:
    return f"{module.removeprefix(PACKAGE)}:{name}"


class _Named(StructMeta):
    """Tags each kind with its module and name: "work.messages:ListRequest"."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        """Make the class of a kind."""
        tag = _name(namespace["__module__"], name)
        return super().__new__(cls, name, bases, namespace, **{"tag": tag} | config)


class Message(Struct, metaclass=_Named, frozen=True, forbid_unknown_fields=True):
    """Base class of requests, replies, and what in them is one of several kinds."""


def name_of(kind: type) -> str:
    """Return the name by which a kind is known elsewhere."""
    return _name(kind.__module__, kind.__qualname__)


def messages_in(value: object, but: type[Message] | None = None) -> Iterator[Message]:
    """Yield a message and those within it, through fields and tuples, without what one kind holds."""
    parts: Iterable[object] = ()
    if isinstance(value, Message):
        yield value
        if but is None or not isinstance(value, but):
            parts = (getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, tuple):
        parts = value
    for part in parts:
        if isinstance(part, (Message, tuple)):
            yield from messages_in(part, but)


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value in which each message is what `change` makes of it, those within it last."""
    if isinstance(value, Message):
        value = change(value)
        parts = {name: changed(getattr(value, name), change) for name in value.__struct_fields__}
        return structs.replace(value, **parts)
    return tuple([changed(part, change) for part in value]) if type(value) is tuple else value
