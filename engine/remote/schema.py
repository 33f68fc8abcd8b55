"""What may cross the line, and how: values of the engine's messages as msgpack, with no pickle.

A value is None, a bool, an int, a float, text or bytes as msgpack has them, a map with text as keys, or an
array whose first element says what it is: a tuple, a list, an array of numbers, or a kind by its name. A
kind is a frozen dataclass, a named tuple, an enum or an error that a module of the engine's messages defines:
what derives from these in such a module crosses without a list. Its name carries a digest of its fields, so
a kind that the other side has otherwise is refused, not misread. What comes is checked against the types of
its fields; nothing is called but the constructors of these kinds.
"""

import hashlib
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from engine.errors import EngineError
from engine.host.shared_array import SharedArray

MOST_BYTES = 4 << 20
"""The longest message, without pixels. msgpack's shortest element takes a byte here and 64 in memory."""
MOST_ARRAY_BYTES = 1 << 20
"""The largest array of numbers within a message; pixels cross beside messages."""
MOST_DEPTH = 40

_PACKAGE = __name__.rpartition(".remote.")[0]
# The rooms whose modules define messages and what these hold; nothing of a device, a variant or a command.
_ROOMS = frozenset(
    (
        *(
            "course",
            "device_info",
            "errors",
            "explain",
            "geometry",
            "gpu_attributes",
            "host",
            "image",
            "mask",
        ),
        *("reason", "remote", "results", "run", "tasks", "verify", "work"),
    )
)
_NAME = re.compile(r"([a-z0-9][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_]*){0,5}):([A-Za-z]\w{0,79})#([0-9a-f]{8})")
_TUPLE, _LIST, _ARRAY, _SHARED, _FILE = "(", "[", "#", "@", "/"
_DTYPES = frozenset(
    f"{kind}{bits}"
    for kind, sizes in (("int", (8, 16, 32, 64)), ("uint", (8, 16, 32, 64)), ("float", (32, 64)))
    for bits in sizes
) | {"bool"}


class NotOfTheSchema(EngineError):
    """What came over the line, or was to be sent, is none of the messages, or holds what may not cross."""

    code = "not-of-the-schema"


@dataclass(frozen=True, slots=True)
class Crossing:
    """How arrays in shared memory, and files that a request names, cross: beside the message, by a name."""

    shared_out: Callable[[SharedArray], Sequence[Any]]
    shared_in: Callable[[Sequence[Any]], SharedArray]
    file_out: Callable[[str], str]
    file_in: Callable[[str], str]
    # Fields of a dataclass that the other side does not need, and what is sent in their place.
    left_out: Callable[[Any], dict[str, Any]] = lambda value: {}
    made: Callable[[Any], Any] = lambda value: value  # what becomes of each dataclass that has come


def _refuse(*_: Any) -> Any:
    raise NotOfTheSchema("A message", "it holds an array in shared memory, or a file, where none may be")


NOTHING_BESIDE = Crossing(_refuse, _refuse, _refuse, _refuse)


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
        return _value(msgspec.msgpack.decode(data), wanted, crossing, 0)
    except NotOfTheSchema:
        raise
    except (Exception, RecursionError) as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise NotOfTheSchema("A message was refused", why) from error


def _plain(value: Any, crossing: Crossing) -> Any:
    kind: Any = type(value)
    if kind in (bool, int, float, str, bytes, types.NoneType):
        return value
    if kind is SharedArray:
        return [_SHARED, *crossing.shared_out(value)]
    if isinstance(value, np.generic):
        return _plain(value.item(), crossing)
    if isinstance(value, np.ndarray):
        if value.dtype.name not in _DTYPES or value.nbytes > MOST_ARRAY_BYTES:
            raise NotOfTheSchema("A message cannot be sent", f"an array of {value.nbytes:,} bytes in it")
        return [_ARRAY, value.dtype.name, list(value.shape), np.ascontiguousarray(value).tobytes()]
    if kind is tuple or kind is list:
        return [_TUPLE if kind is tuple else _LIST, *(_plain(part, crossing) for part in value)]
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value):
            return {key: _plain(part, crossing) for key, part in value.items()}
        return [_MAPPING, *(_plain((k, part), crossing) for k, part in value.items())]
    if isinstance(value, frozenset):
        return [_FROZENSET, *(_plain(part, crossing) for part in sorted(value))]
    return [name_of(kind), *_parts(value, kind, crossing)]


def _parts(value: Any, kind: type, crossing: Crossing) -> list[Any]:
    if isinstance(value, Enum):
        return [_plain(value.value, crossing)]
    if isinstance(value, EngineError):
        return [_plain(part, crossing) for part in value.args]
    if isinstance(value, tuple):
        each = [_plain(part, crossing) for part in value]
        return each if _is_named_tuple(kind) else [[_TUPLE, *each]]
    files = getattr(kind, "file_fields", ())
    parts = {name: getattr(value, name) for name in _form(kind)} | crossing.left_out(value)
    return [
        ([_FILE, crossing.file_out(part)] if part else part) if name in files else _plain(part, crossing)
        for name, part in parts.items()
    ]


_MAPPING, _FROZENSET = "mapping", "frozenset"


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
    if match is None or match[1].partition(".")[0] not in _ROOMS:
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
    return issubclass(kind, Enum | EngineError | tuple)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


@cache
def _form(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass or a named tuple that its constructor takes."""
    hints = get_type_hints(kind)
    names = (
        [field.name for field in fields(kind) if field.init]
        if is_dataclass(kind)
        else list(getattr(kind, "_fields", ()))
    )
    return {name: hints.get(name, object) for name in names}


@cache
def _digest(kind: Any) -> str:
    if issubclass(kind, Enum):
        form: Any = [(member.name, repr(member.value)) for member in kind]
    elif issubclass(kind, EngineError):
        form = str(inspect.signature(kind.__init__))
    else:
        form = [(name, str(hint)) for name, hint in _form(kind).items()]
    # An installed package is `haloscope`, a clone's `engine`.
    text = repr(form).replace(f"{_PACKAGE}.", "")
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _value(plain: Any, hint: Any, crossing: Crossing, depth: int) -> Any:
    """Return what a plain value stands for, where it is of the type."""
    if depth > MOST_DEPTH:
        raise NotOfTheSchema("A message was refused", f"it is nested more than {MOST_DEPTH} times")
    if isinstance(plain, dict):
        inner = _mapping_types(hint)[1]
        made: Any = {_text(key): _value(part, inner, crossing, depth + 1) for key, part in plain.items()}
    elif isinstance(plain, list):
        if not plain or not isinstance(plain[0], str):
            raise NotOfTheSchema("A message was refused", "an array in it does not say what it is")
        made = _tagged(plain[0], plain[1:], hint, crossing, depth + 1)
    else:
        made = plain
        if type(plain) is int and hint is float:
            made = float(plain)
    if not fits(made, hint):
        raise NotOfTheSchema("A message was refused", f"{type(made).__name__} in place of {hint}"[:300])
    return made


def _tagged(tag: str, parts: list[Any], hint: Any, crossing: Crossing, depth: int) -> Any:
    if tag == _TUPLE:
        return tuple(_value(p, of, crossing, depth) for p, of in _with_types(parts, hint, tuple))
    if tag == _LIST:
        return [_value(p, of, crossing, depth) for p, of in _with_types(parts, hint, list)]
    if tag == _ARRAY:
        return _array(*parts)
    if tag == _SHARED:
        return crossing.shared_in(parts)
    if tag == _FILE:
        return crossing.file_in(_text(*parts))
    if tag == _MAPPING:
        key, of = _mapping_types(hint)
        pairs = [_value(pair, tuple[key, of], crossing, depth) for pair in parts]  # type: ignore[valid-type]
        return dict(pairs)
    if tag == _FROZENSET:
        return frozenset(_value(p, object, crossing, depth) for p in parts)
    kind = _kind(tag)
    if issubclass(kind, Enum):
        return kind(*(_value(p, object, crossing, depth) for p in parts))
    if issubclass(kind, EngineError):
        return _error(kind, [_value(p, object, crossing, depth) for p in parts])
    if issubclass(kind, tuple) and not _is_named_tuple(kind):
        return kind(*(_value(p, tuple, crossing, depth) for p in parts))
    form = _form(kind)
    if len(parts) != len(form):
        raise NotOfTheSchema("A message was refused", f"{len(parts)} fields of {kind.__name__}")
    given = zip(form.items(), parts, strict=True)
    values = {name: _value(part, of, crossing, depth) for (name, of), part in given}
    made = kind(**values)
    # What a message promises beyond the types of its fields.
    if (check := getattr(made, "check_arrived", None)) is not None:
        check()
    return crossing.made(made)


def _error(kind: type[EngineError], parts: list[Any]) -> EngineError:
    hints = get_type_hints(kind.__init__)
    names = list(inspect.signature(kind.__init__).parameters)[1:]
    if len(parts) > len(names) or not all(
        fits(part, hints.get(name, str)) for name, part in zip(names, parts, strict=False)
    ):
        raise NotOfTheSchema("A message was refused", f"no words of {kind.__name__}")
    return kind(*parts)


def _array(dtype: Any, shape: Any, data: Any) -> np.ndarray:
    if dtype not in _DTYPES or not isinstance(data, bytes):
        raise NotOfTheSchema("A message was refused", "an array in it has no such type")
    array = np.frombuffer(data, dtype).reshape(shape_of(shape, dtype, MOST_ARRAY_BYTES))
    return array.copy()


def shape_of(shape: Any, dtype: Any, most_bytes: int) -> tuple[int, ...]:
    """Return the shape of an array that may take so many bytes. Raises NotOfTheSchema for any other."""
    size = np.dtype(dtype).itemsize if isinstance(dtype, str) and dtype in _DTYPES else 0
    sides = list(shape) if isinstance(shape, list | tuple) and len(shape) <= 8 else [-1]
    for side in sides:
        if type(side) is not int or not 0 <= side <= most_bytes:
            size = 0
        size *= max(side, 1) if size else 0
        if not 0 < size <= most_bytes:
            raise NotOfTheSchema("A message was refused", f"an array of {str(shape)[:60]} {str(dtype)[:20]}")
    return tuple(sides)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise NotOfTheSchema("A message was refused", f"{type(value).__name__} in place of text")
    return value


def _bare(hint: Any) -> Any:
    """Return a type without what only documents or bounds it."""
    if isinstance(hint, TypeVar):
        return _bare(hint.__bound__ or object)
    if getattr(hint, "_is_protocol", False) or get_origin(hint) is ClassVar:
        return object
    return hint


@cache
def _choices(hint: Any) -> tuple[Any, ...]:
    hint = _bare(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(choice for part in get_args(hint) for choice in _choices(part))
    return (hint,)


@cache
def _mapping_types(hint: Any) -> tuple[Any, Any]:
    for choice in _choices(hint):
        origin = get_origin(choice)
        if isinstance(origin, type) and issubclass(origin, Mapping) and len(get_args(choice)) == 2:
            return get_args(choice)
    return object, object


def _with_types(parts: list[Any], hint: Any, kind: type) -> list[tuple[Any, Any]]:
    """Return each part with its type, where the type of the whole says it."""
    for choice in _choices(hint):
        of = get_args(choice)
        if get_origin(choice) not in (kind, Sequence) or not of:
            continue
        if kind is list or get_origin(choice) is Sequence or of[-1] is Ellipsis:
            return [(part, of[0]) for part in parts]
        if len(of) == len(parts):
            return list(zip(parts, of, strict=True))
    return [(part, object) for part in parts]


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type; its parts were checked when they were made."""
    return any(_fits_one(value, choice) for choice in _choices(hint))


def _fits_one(value: Any, hint: Any) -> bool:
    if hint in (object, Any):
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    origin = get_origin(hint) or hint
    if origin is Literal:
        return value in get_args(hint)
    if not isinstance(origin, type):
        return False
    if origin in (bool, int, float, str, bytes):
        # True is no int here; a float where a whole number came is made one before.
        return type(value) is origin or (origin is float and type(value) is int) or _is_enum_of(value, origin)
    if origin is tuple and (of := get_args(hint)) and of[-1] is not Ellipsis and of != ((),):
        return isinstance(value, tuple) and len(value) == len(of)
    return isinstance(value, origin) and not (origin is tuple and _is_named_tuple(type(value)))


def _is_enum_of(value: Any, kind: type) -> bool:
    return isinstance(value, Enum) and isinstance(value, kind)
