"""What may cross the line, and how: values of the engine's messages as msgpack, with no pickle.

Numbers, text, bytes and None are as msgpack has them; a tuple is an array. Everything else is a map of one
entry that says what it is: a list, a mapping, an array of numbers, or a kind by its name, with its fields. A
kind is a frozen dataclass, a named tuple or an error that a module of the engine's messages defines: what
derives from these in such a module crosses without a list. Its name carries a digest of its fields, so a kind
that the other side has otherwise is refused, not misread. msgspec checks what comes by the types of the
fields, and by the limits that are beside them (`msgspec.Meta`); nothing is called but the constructors of
these kinds.
"""

import hashlib
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, reduce
from importlib import import_module
from operator import or_
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta

from engine.errors import EngineError
from engine.host.shared_array import SharedArray

MOST_BYTES = 4 << 20
"""The longest message, without pixels. msgpack's shortest element takes a byte here and 64 in memory."""
MOST_ARRAY_BYTES = 1 << 20
"""The largest array of numbers within a message; pixels cross beside messages."""
MOST_DEPTH = 40

_PACKAGE = __name__.rpartition(".remote.")[0]
# The rooms whose modules define messages and what these hold; nothing of a device, a variant or a command.
_ROOMS = (
    "course|device_info|errors|explain|geometry|gpu_attributes|host|image|mask|reason|remote|results|run|tasks|"
    "verify|work"
)
_NAME = re.compile(rf"((?:{_ROOMS})(?:\.[a-z0-9][a-z0-9_]*){{0,5}}):([A-Za-z]\w{{0,79}})#([0-9a-f]{{8}})")
_ARRAY, _SHARED, _FILE = "#", "@", "/"
_CONTAINERS: dict[Any, Callable[[list[Any]], Any]] = {"[": list, "{": dict, "frozenset": frozenset}
_NATIVE = bool, int, float, str, bytes, types.NoneType

Shape = Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(max_length=8)]
_NUMBERS = r"bool|u?int(8|16|32|64)|float(32|64)"
NumberType = Annotated[str, Meta(pattern=f"^({_NUMBERS})$")]
_Data = Annotated[bytes, Meta(max_length=MOST_ARRAY_BYTES)]


class NotOfTheSchema(EngineError):
    """What came over the line, or was to be sent, is none of the messages, or holds what may not cross."""

    code = "not-of-the-schema"


def _refuse(*_: Any) -> Any:
    raise NotOfTheSchema("A message", "it holds an array in shared memory, or a file, where none may be")


@dataclass(frozen=True, slots=True)
class Crossing:
    """How arrays in shared memory, and files that a request names, cross: beside the message, by a name.

    What is not said does not cross.
    """

    shared_out: Callable[[SharedArray], Sequence[Any]] = _refuse
    shared_in: Callable[[Sequence[Any]], SharedArray] = _refuse
    file_out: Callable[[str], str] = _refuse
    file_in: Callable[[str], str] = _refuse
    # Fields of a dataclass that the other side does not need, and what is sent in their place.
    left_out: Callable[[Any], dict[str, Any]] = lambda value: {}
    made: Callable[[Any], Any] = lambda value: value  # what becomes of each dataclass that has come


NOTHING_BESIDE = Crossing()


def encoded(value: object, crossing: Crossing = NOTHING_BESIDE) -> bytes:
    """Return a value as msgpack. Raises NotOfTheSchema: it holds what may not cross, or it is too long."""
    try:
        data = msgspec.msgpack.encode(_plain(value, crossing))
    except (TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise NotOfTheSchema("A message cannot be sent", str(error)) from error
    if len(data) > MOST_BYTES:
        raise NotOfTheSchema("A message cannot be sent", f"it takes {len(data):,} of {MOST_BYTES:,} bytes")
    return data


def decoded(data: bytes | memoryview, wanted: Any = object, crossing: Crossing = NOTHING_BESIDE) -> Any:
    """Return the value of a type that is encoded. Raises NotOfTheSchema for anything else."""
    if len(data) > MOST_BYTES:
        raise NotOfTheSchema("A message was refused", f"it has {len(data):,} of {MOST_BYTES:,} bytes")
    try:
        (value,) = _checked(_struct((wanted,)), [_made(msgspec.msgpack.decode(data), crossing, 0)])
    except NotOfTheSchema:
        raise
    except (Exception, RecursionError) as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise NotOfTheSchema("A message was refused", why) from error
    return value


def _plain(value: Any, crossing: Crossing) -> Any:
    kind: Any = type(value)
    if kind in _NATIVE:
        return value
    if isinstance(value, Enum):
        return value.value
    if kind is SharedArray:
        return {_SHARED: crossing.shared_out(value)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if not re.fullmatch(_NUMBERS, value.dtype.name) or value.nbytes > MOST_ARRAY_BYTES:
            raise NotOfTheSchema("A message cannot be sent", f"an array of {value.nbytes:,} bytes in it")
        return {_ARRAY: [value.dtype.name, value.shape, np.ascontiguousarray(value).tobytes()]}
    if isinstance(value, Mapping):
        return {"{": [[_plain(key, crossing), _plain(part, crossing)] for key, part in value.items()]}
    if kind in (tuple, list, frozenset):
        each = [_plain(part, crossing) for part in (sorted(value) if kind is frozenset else value)]
        return each if kind is tuple else {"[" if kind is list else "frozenset": each}
    name, form = name_of(kind), _form(kind)
    if not is_dataclass(kind):
        # The arguments of an error, the parts of a tuple.
        return {name: [_plain(part, crossing) for part in getattr(value, "args", value)]}
    files, left_out = getattr(kind, "file_fields", ()), crossing.left_out(value)
    parts = {field: left_out.get(field, getattr(value, field)) for field in form}
    return {
        name: [
            {_FILE: crossing.file_out(part)} if field in files and part else _plain(part, crossing)
            for field, part in parts.items()
        ]
    }


def _made(plain: Any, crossing: Crossing, depth: int) -> Any:
    """Return what a plain value stands for; the fields of each kind are checked by their types."""
    if depth > MOST_DEPTH:
        raise NotOfTheSchema("A message was refused", f"it is nested more than {MOST_DEPTH} times")
    if type(plain) is list:
        return tuple([_made(part, crossing, depth + 1) for part in plain])
    if type(plain) is not dict:
        return plain
    if len(plain) != 1:
        raise NotOfTheSchema("A message was refused", "a map in it does not say what it is")
    ((tag, body),) = plain.items()
    if tag == _SHARED:
        return crossing.shared_in(body)
    if tag == _FILE and type(body) is str:
        return crossing.file_in(body)
    if tag == _ARRAY:
        dtype, shape, data = _checked(_struct((NumberType, Shape, _Data)), body)
        return np.frombuffer(data, dtype).reshape(shape).copy()
    if type(body) is not list:
        raise NotOfTheSchema("A message was refused", f"{type(body).__name__} in place of parts")
    parts = [_made(part, crossing, depth + 1) for part in body]
    if tag in _CONTAINERS:
        return _CONTAINERS[tag](parts)
    kind = _kind(tag)
    if issubclass(kind, tuple) and not hasattr(kind, "_fields"):
        return kind(parts)
    if issubclass(kind, EngineError):
        return kind(*_checked(_struct(tuple(_form(kind).values())[: len(parts)]), parts))
    return crossing.made(kind(**dict(zip(_form(kind), _checked(_fields(kind), parts), strict=True))))


@cache
def name_of(kind: Any) -> str:
    """Return the name of a kind on the line, with the digest of its fields. Raises NotOfTheSchema."""
    module, name = kind.__module__.removeprefix(f"{_PACKAGE}."), kind.__qualname__
    full = f"{module}:{name}#{_digest(kind)}"
    if kind.__module__ == module or not _NAME.fullmatch(full) or _kind(full) is not kind:
        raise NotOfTheSchema("A message cannot be sent", f"{kind.__module__}.{name} may not cross")
    return full


@cache
def _kind(name: str) -> Any:
    """Return the kind of a name. Raises NotOfTheSchema: there is none, or it has other fields here."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise NotOfTheSchema("A message was refused", f"there is no kind {name[:100]!r}")
    try:
        kind = getattr(import_module(f"{_PACKAGE}.{match[1]}"), match[2], None)
    except ImportError:
        kind = None
    if not isinstance(kind, type) or kind.__module__ != f"{_PACKAGE}.{match[1]}" or not _may_cross(kind):
        raise NotOfTheSchema("A message was refused", f"there is no kind {name[:100]!r}")
    if _digest(kind) != match[3]:
        raise NotOfTheSchema(
            f"{match[2]} was refused",
            "it has other fields there than here",
            "Install the same version on both.",
        )
    return kind


def _may_cross(kind: type) -> bool:
    """Return whether a kind is plain data."""
    if is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(kind, EngineError | tuple)


@cache
def _form(kind: Any) -> dict[str, Any]:
    """Return the types of what the constructor of a kind takes."""
    if issubclass(kind, EngineError):
        hints, names = get_type_hints(kind.__init__), list(inspect.signature(kind.__init__).parameters)[1:]
    else:
        hints = get_type_hints(kind, include_extras=True)
        names = list(getattr(kind, "_fields", ()))
        if is_dataclass(kind):
            names = [field.name for field in fields(kind) if field.init]
    return {name: hints.get(name, object) for name in names}


@cache
def _digest(kind: Any) -> str:
    # An installed package is `haloscope`, a clone's `engine`.
    text = repr([(name, str(hint)) for name, hint in _form(kind).items()]).replace(f"{_PACKAGE}.", "")
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


@cache
def _fields(kind: Any) -> type[msgspec.Struct]:
    return _struct(tuple(_form(kind).values()))


@cache
def _struct(hints: tuple[Any, ...]) -> type[msgspec.Struct]:
    """Return what msgspec checks values of these types by."""
    checks = [(f"part{number}", _check(hint)) for number, hint in enumerate(hints)]
    return msgspec.defstruct("Parts", checks, array_like=True, forbid_unknown_fields=True)


def _checked(struct: type[msgspec.Struct], parts: list[Any]) -> tuple[Any, ...]:
    return msgspec.structs.astuple(msgspec.convert(parts, struct, dec_hook=lambda kind, value: value))


class _OneOf(type):
    """What stands for classes whose instances were made before: msgspec asks whether a value is one."""

    classes: tuple[type, ...]

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.classes)


def _check(hint: Any) -> Any:
    """Return the type that msgspec checks in place of a field's."""
    if isinstance(hint, TypeVar):
        return _check(hint.__bound__ or object)
    if hint in (Any, object):
        return Any
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return Annotated[(_check(parts[0]), *hint.__metadata__)]
    if origin in _NATIVE or origin is Literal or (isinstance(origin, type) and issubclass(origin, Enum)):
        return hint
    if origin is Sequence:
        origin, parts = tuple, (*parts, ...)
    if origin in (tuple, list, frozenset):
        checks = tuple(part if part is ... else _check(part) for part in parts)
        return types.GenericAlias(origin, checks) if parts else origin
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return types.GenericAlias(dict, tuple(map(_check, parts))) if parts else dict
    kinds = (origin,)
    if origin in (Union, types.UnionType):
        checks = tuple(map(_check, parts))
        if not any(isinstance(check, _OneOf) for check in checks):
            return reduce(or_, checks)
        kinds = tuple(get_origin(part) or part for part in parts)
    is_open = any(not isinstance(kind, type) or getattr(kind, "_is_protocol", False) for kind in kinds)
    return Any if is_open else _OneOf("kinds", (), {"classes": kinds})
