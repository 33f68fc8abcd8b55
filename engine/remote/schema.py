"""What may cross the line, and how: values of the engine's messages as msgpack, with no pickle.

Numbers, text, bytes and None are as msgpack has them; a tuple is an array. Everything else is a map of one
entry: what it is, and its parts. A frozen dataclass or a named tuple that a module of the engine's messages
defines crosses by its name, with its fields by theirs; an error with its arguments. No list says which.
msgspec checks what comes by the types of the fields, and by the limits that are beside them (`msgspec.Meta`);
nothing is called but the constructors of these kinds.
"""

import inspect
import re
import types
from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
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
    "course|device_info|errors|explain|flow|geometry|gpu_attributes|host|image|mask|reason|remote|results|run|"
    "tasks|verify|work"
)
_NAME = re.compile(rf"((?:{_ROOMS})(?:\.[a-z0-9][a-z0-9_]*){{0,5}}):([A-Za-z]\w{{0,79}})")
_ARRAY, _SHARED, _FILE, _MAPPING = "array", "shared", "file", "dict"
_NATIVE = bool, int, float, str, bytes, types.NoneType

Key = Annotated[str, Meta(min_length=1, max_length=80)]
"""What arrays are called on the line: a digest of their bytes, or what they answer."""
Number = Annotated[int, Meta(ge=0)]
Shape = Annotated[tuple[Number, ...], Meta(max_length=8)]
_NUMBERS = r"bool|u?int(8|16|32|64)|float(32|64)"
NumberType = Annotated[str, Meta(pattern=f"^({_NUMBERS})$")]
_ArrayParts = tuple[NumberType, Shape, Annotated[bytes, Meta(max_length=MOST_ARRAY_BYTES)]]


class NotOfTheSchema(EngineError):
    """What came over the line, or was to be sent, is none of the messages, or holds what may not cross."""

    code = "not-of-the-schema"


def _refuse(*_: object) -> Any:
    raise NotOfTheSchema("A message", "it holds an array in shared memory, or a file, where none may be")


@dataclass(frozen=True, slots=True)
class Crossing:
    """How arrays in shared memory, and files that a request names, cross: beside the message, by a name.

    Of an array that is a key, and its number among the arrays of that. What is not said does not cross.
    """

    shared_out: Callable[[SharedArray], tuple[str, int]] = _refuse
    shared_in: Callable[[str, int], SharedArray] = _refuse
    file_out: Callable[[str], str] = _refuse
    file_in: Callable[[str], str] = _refuse


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


def decoded(data: bytes | memoryview, wanted: object = object, crossing: Crossing = NOTHING_BESIDE) -> Any:
    """Return the value of a type that is encoded. Raises NotOfTheSchema for anything else."""
    if len(data) > MOST_BYTES:
        raise NotOfTheSchema("A message was refused", f"it has {len(data):,} of {MOST_BYTES:,} bytes")
    try:
        return _checked(_made(msgspec.msgpack.decode(data), crossing, 0), _check(wanted))
    except NotOfTheSchema:
        raise
    except (Exception, RecursionError) as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise NotOfTheSchema("A message was refused", why) from error


def _plain(value: Any, crossing: Crossing) -> Any:
    kind: Any = type(value)
    if kind in _NATIVE:
        return value
    if kind is tuple:
        return [_plain(part, crossing) for part in value]
    if kind is SharedArray:
        return {_SHARED: crossing.shared_out(value)}
    if isinstance(value, Enum | np.generic):
        return value.value if isinstance(value, Enum) else value.item()
    if isinstance(value, np.ndarray):
        if not re.fullmatch(_NUMBERS, value.dtype.name) or value.nbytes > MOST_ARRAY_BYTES:
            raise NotOfTheSchema("A message cannot be sent", f"an array of {value.nbytes:,} bytes in it")
        return {_ARRAY: [value.dtype.name, value.shape, np.ascontiguousarray(value).tobytes()]}
    if isinstance(value, Mapping):
        return {_MAPPING: _plain(tuple(value.items()), crossing)}
    name = name_of(kind)
    if not _has_fields(kind):
        return {name: _plain(tuple(getattr(value, "args", value)), crossing)}
    files, stays = getattr(kind, "file_fields", ()), getattr(kind, "stays_here", {})
    parts = {field: stays.get(field, getattr(value, field)) for field in types_of(kind)}
    return {
        name: {
            field: {_FILE: crossing.file_out(part)} if field in files and part else _plain(part, crossing)
            for field, part in parts.items()
        }
    }


def _made(plain: Any, crossing: Crossing, depth: int) -> Any:
    """Return what a plain value stands for; the parts of each kind are checked by their types."""
    if type(plain) not in (dict, list):
        return plain
    if depth > MOST_DEPTH:
        raise NotOfTheSchema("A message was refused", f"it is nested more than {MOST_DEPTH} times")
    if type(plain) is list:
        return tuple([_made(part, crossing, depth + 1) for part in plain])
    if len(plain) != 1:
        raise NotOfTheSchema("A message was refused", "a map in it does not say what it is")
    ((tag, body),) = plain.items()
    if tag == _SHARED:
        return crossing.shared_in(*_checked(body, tuple[Key, Number]))
    if tag == _FILE:
        return crossing.file_in(_checked(body, str))
    if tag == _ARRAY:
        dtype, shape, data = _checked(body, _ArrayParts)
        return np.frombuffer(data, dtype).reshape(shape).copy()
    if tag == _MAPPING:
        return dict(_made(body, crossing, depth + 1))
    kind = _kind(tag)
    if _has_fields(kind):
        parts = {name: _made(part, crossing, depth + 1) for name, part in body.items()}
        return kind(**msgspec.structs.asdict(_checked(parts, _struct(kind))))
    arguments = _made(body, crossing, depth + 1)
    if issubclass(kind, tuple):
        return kind(arguments)
    checks = tuple(map(_check, types_of(kind).values()))[: len(arguments)]
    return kind(*_checked(arguments, types.GenericAlias(tuple, checks)))


@cache
def name_of(kind: type) -> str:
    """Return the name of a kind on the line. Raises NotOfTheSchema: it may not cross."""
    name = f"{kind.__module__.removeprefix(f'{_PACKAGE}.')}:{kind.__qualname__}"
    if not _NAME.fullmatch(name) or _kind(name) is not kind:
        raise NotOfTheSchema(
            "A message cannot be sent", f"{kind.__module__}.{kind.__qualname__} may not cross"
        )
    return name


@cache
def _kind(name: str) -> Any:
    """Return the kind of a name. Raises NotOfTheSchema: there is none."""
    kind, match = None, _NAME.fullmatch(name)
    if match is not None:
        try:
            kind = getattr(import_module(f"{_PACKAGE}.{match[1]}"), match[2], None)
        except ImportError:
            kind = None
    if (
        match is None
        or not isinstance(kind, type)
        or kind.__module__ != f"{_PACKAGE}.{match[1]}"
        or not _may_cross(kind)
    ):
        raise NotOfTheSchema("A message was refused", f"there is no kind {name[:100]!r}")
    return kind


def _may_cross(kind: type) -> bool:
    """Return whether a kind is plain data."""
    if is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(kind, EngineError | tuple)


@cache
def _has_fields(kind: type) -> bool:
    return is_dataclass(kind) or hasattr(kind, "_fields")


@cache
def types_of(kind: Any) -> dict[str, Any]:
    """Return the types of what the constructor of a kind takes, by name."""
    hints = get_type_hints(kind if _has_fields(kind) else kind.__init__, include_extras=True)
    return {name: hints.get(name, object) for name in inspect.signature(kind).parameters}


@cache
def _struct(kind: Any) -> type[msgspec.Struct]:
    """Return what msgspec checks the fields of a kind by."""
    checks = [(name, _check(hint)) for name, hint in types_of(kind).items()]
    return msgspec.defstruct(kind.__name__, checks, forbid_unknown_fields=True)


def _checked(value: object, wanted: object) -> Any:
    return msgspec.convert(value, wanted, dec_hook=lambda kind, value: value)


def _one_of(kinds: tuple[type, ...]) -> ABCMeta:
    """Return what stands for classes whose instances were made before: a value is of it or is not."""
    made = ABCMeta("Made", (), {})
    for kind in kinds:
        made.register(kind)
    return made


@cache
def _check(hint: Any) -> Any:
    """Return the type that msgspec checks in place of a field's."""
    if isinstance(hint, TypeVar):
        hint = hint.__bound__ or object
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if origin in (Any, object):
        return Any
    if origin is Annotated:
        return Annotated[(_check(parts[0]), *hint.__metadata__)]
    if origin in _NATIVE or origin is Literal or (isinstance(origin, type) and issubclass(origin, Enum)):
        return hint
    if origin in (tuple, dict):
        checks = tuple(part if part is ... else _check(part) for part in parts)
        return types.GenericAlias(origin, checks) if parts else origin
    kinds = (origin,)
    if origin in (Union, types.UnionType):
        checks = tuple(map(_check, parts))
        if not any(isinstance(check, ABCMeta) for check in checks):
            return reduce(or_, checks)
        kinds = tuple(get_origin(part) or part for part in parts)
    is_open = any(not isinstance(kind, type) or getattr(kind, "_is_protocol", False) for kind in kinds)
    return Any if is_open else _one_of(kinds)
