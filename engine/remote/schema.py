"""What may cross the line, and how: the engine's messages as msgpack, with no pickle.

msgspec writes them, and reads them by the types of their fields and the limits beside these (`msgspec.Meta`).
A message has the name of its kind with it, by which it is found where one of several kinds may come; nothing
is called but the constructors of kinds that a module of the engine's messages defines. What msgspec does not
know, such as an array or an error, crosses as its parts.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta, structs

from engine.errors import CodeNotKept, EngineError
from engine.host.request import Answer, Cancel, HostOptions, Ready, SharedArray, Superseded, ToHost, Working
from engine.message import PACKAGE, Message, changed, name_of

MOST_BYTES = 4 << 20
"""The longest message, without pixels. msgpack's shortest element takes a byte here and 64 in memory."""
MOST_ARRAY_BYTES = 1 << 20  # the largest array of numbers within a message; pixels cross beside messages
MOST_DEPTH = 40

# The folders whose modules define messages and what these hold; nothing of a device, a variant or a command.
_FOLDERS = "course|errors|explain|flow|geometry|host|image|remote|results|tasks|work"
_NAME = re.compile(rf"((?:{_FOLDERS})(?:\.[a-z0-9][a-z0-9_]*){{0,5}}):([A-Za-z]\w{{0,79}})")

Key = Annotated[str, Meta(min_length=1, max_length=80)]
"""What arrays are called on the line: a digest of their bytes, or what they answer."""
Number = Annotated[int, Meta(ge=0)]
Shape = Annotated[tuple[Number, ...], Meta(max_length=8)]
_NUMBERS = r"^(bool|u?int(8|16|32|64)|float(32|64))$"
NumberType = Annotated[str, Meta(pattern=_NUMBERS)]
_Array = tuple[NumberType, Shape, Annotated[bytes, Meta(max_length=MOST_ARRAY_BYTES)]]


class NotOfTheSchema(EngineError, code="not-of-the-schema"):
    """What came over the line, or was to be sent, is none of the messages, or holds what may not cross."""


class Data(Message, frozen=True):
    """A reply, or one of several, that is no message itself: what it is, and its fields."""

    kind: str
    fields: Any


def _refuse(*_: object) -> Any:
    raise NotOfTheSchema("A message", "it holds an array in shared memory, or a file, where none may be")


@dataclass(frozen=True, slots=True)
class Crossing:
    """How arrays in shared memory, and files that a request names, cross: beside the message, by a name.

    An array has a key for its name then, and its number among the arrays of that for its first byte.
    """

    array: Callable[[SharedArray], SharedArray] = _refuse
    file: Callable[[str], str] = _refuse

    def __call__(self, message: Message) -> Message:
        """Return a message on this side as it is on the other one, or the other way round."""
        if isinstance(message, SharedArray):
            return self.array(message)
        files = {name: getattr(message, name) for name in getattr(message, "file_fields", ())}
        named = {name: self.file(path) for name, path in files.items() if path}
        fields = getattr(message, "stays_here", {}) | named
        return structs.replace(message, **fields) if fields else message


NOTHING_BESIDE = Crossing()
_decoder: Any = cache(msgspec.msgpack.Decoder)


def encoded(value: object, crossing: Crossing = NOTHING_BESIDE) -> bytes:
    """Return a message as msgpack. Raises NotOfTheSchema: it holds what may not cross, or it is too long."""
    if isinstance(value, Answer):
        value = structs.replace(value, value=_named(value.value))
    try:
        data = msgspec.msgpack.encode(changed(value, crossing), enc_hook=_parts)
    except (TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise NotOfTheSchema("A message cannot be sent", str(error)) from error
    if len(data) > MOST_BYTES:
        raise NotOfTheSchema("A message cannot be sent", f"it takes {len(data):,} of {MOST_BYTES:,} bytes")
    return data


def decoded(data: bytes | memoryview, wanted: object = object, crossing: Crossing = NOTHING_BESIDE) -> Any:
    """Return the message of a type that is encoded. Raises NotOfTheSchema for anything else."""
    if len(data) > MOST_BYTES:
        raise NotOfTheSchema("A message was refused", f"it has {len(data):,} of {MOST_BYTES:,} bytes")
    try:
        return changed(_decoder(wanted, dec_hook=_made).decode(data), crossing)
    except NotOfTheSchema:
        raise
    except (Exception, RecursionError) as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise NotOfTheSchema("A message was refused", why) from error


def _named(reply: object) -> object:
    if type(reply) is tuple:
        return tuple(map(_named, reply))
    return Data(name_of(type(reply)), reply) if is_dataclass(reply) else reply


def _parts(value: object) -> object:
    """Return what msgspec does not know as something that it does."""
    if isinstance(value, np.ndarray):
        if not re.match(_NUMBERS, value.dtype.name) or value.nbytes > MOST_ARRAY_BYTES:
            raise NotOfTheSchema("A message cannot be sent", f"an array of {value.nbytes:,} bytes in it")
        return value.dtype.name, value.shape, np.ascontiguousarray(value).tobytes()
    if isinstance(value, EngineError):
        return name_of(type(value)), value.args
    if isinstance(value, np.generic | Mapping):
        return value.item() if isinstance(value, np.generic) else dict(value)
    raise NotOfTheSchema("A message cannot be sent", f"{name_of(type(value))} may not cross")


def _made(wanted: Any, plain: Any) -> Any:
    """Return what msgspec does not know, made of its parts; of an open type the message that came."""
    kind = get_origin(wanted) or wanted
    if kind is np.ndarray:
        dtype, shape, data = _checked(plain, _Array)
        return np.frombuffer(data, dtype).reshape(shape).copy()
    if issubclass(kind, EngineError):
        name, arguments = _checked(plain, tuple[str, list[Any]])
        error = _kind(name)
        hints = [hint for key, hint in get_type_hints(error.__init__).items() if key != "return"]
        return error(*_checked(arguments, tuple.__class_getitem__(tuple(hints[: len(arguments)]))))
    if issubclass(kind, tuple):
        return kind(_checked(plain, kind.__orig_bases__[0]))
    return _opened(plain, 0)


def _opened(plain: Any, depth: int) -> Any:
    if depth > MOST_DEPTH:
        raise NotOfTheSchema("A message was refused", f"it is nested more than {MOST_DEPTH} times")
    if type(plain) is list:
        return tuple([_opened(part, depth + 1) for part in plain])
    if type(plain) is not dict:
        return plain
    found = _checked(plain, _kind(plain.get("type")))
    return _checked(found.fields, _kind(found.kind)) if isinstance(found, Data) else found


def _checked(plain: object, wanted: Any) -> Any:
    return msgspec.convert(plain, wanted, dec_hook=_made)


@cache
def _kind(name: object) -> Any:
    """Return the kind of a name. Raises NotOfTheSchema: there is none."""
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    with suppress(ImportError, AttributeError):
        kind: Any = match and getattr(import_module(PACKAGE + match[1]), match[2])
        is_data = isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Message | EngineError))
        if is_data and name_of(kind) == name:
            return kind
    raise NotOfTheSchema("A message was refused", f"there is no kind {str(name)[:100]!r}")


_MOST_LETTERS, _MOST_NAME_BYTES = 400, 255
_PLACE = re.compile(r"[^./\\:][^/\\:]*(/[^./\\:][^/\\:]*)*")


def is_place(text: str) -> bool:
    """Return whether a text is the name of a file below a folder, and cannot be one outside it.

    It has no part that is hidden, such as `.bashrc`, no letter that separates or ends names on some system,
    and none that cannot be seen.
    """
    if not text.isprintable() or not _PLACE.fullmatch(text):
        return False
    return len(text) < _MOST_LETTERS and max(map(len, text.encode().split(b"/"))) <= _MOST_NAME_BYTES


def path_below(folder: str, place: str) -> Path:
    """Return the path of a place. Raises NotOfTheSchema: it is none, or a link in the folder leads out."""
    if not is_place(place):
        raise NotOfTheSchema("A file was refused", f"its place is {place[:60]!r}")
    path = Path(folder, *place.split("/"))
    if not path.resolve().is_relative_to(Path(folder).resolve()):
        raise NotOfTheSchema("A file was refused", f"a link leads from {folder} to {path.resolve()}")
    return path


def name_there(name: str) -> str:
    """Return what a file of any name is called on the other side: the same, or one made up of its bytes."""
    made = hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()
    return next(filter(is_place, (name, f"{made}{os.path.splitext(name)[1]}", made)))


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


TO_SERVER = Begin | ToHost | Cancel | Superseded | Arrays | Band
FROM_SERVER = Ready | Answer | Working | Notice | Arrays | Band | Needed | Written

_KINDS = {name_of(kind): kind.__struct_fields__ for kind in (*TO_SERVER.__args__, *FROM_SERVER.__args__)}
DIGEST = hashlib.blake2b(repr(sorted(_KINDS.items())).encode(), digest_size=8).hexdigest()
"""Of the fields of these; what is in them says the names of its own."""
