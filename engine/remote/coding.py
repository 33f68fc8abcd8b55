"""How messages cross a line: as msgpack, which msgspec reads by the types of their fields; no pickle.

Where a field may hold one of several kinds, such as a request, these are what a few modules declare; a reply
is of the type that its request declares. Nothing else is imported, or called, by a name that comes. What
msgspec does not know, such as an array or an error, crosses as its parts.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any, get_origin

import msgspec
import numpy as np
from msgspec import Meta, StructMeta

from engine import errors
from engine.errors import EngineError, NotOfTheSchema
from engine.geometry.block import Refusal, UnsupportedVariant
from engine.host.request import Reply
from engine.message import PACKAGE, Message, changed, name_of
from engine.remote.beside import NOTHING_BESIDE, Crossing
from engine.remote.schema import NumberType, Shape

MOST_BYTES = 4 << 20
"""The longest message, without pixels. msgpack's shortest element takes a byte here and 64 in memory."""
MOST_ARRAY_BYTES = 1 << 20  # the largest array of numbers within a message; pixels cross beside messages
_Array = tuple[NumberType, Shape, Annotated[bytes, Meta(max_length=MOST_ARRAY_BYTES)]]

_MODULES = re.compile(
    r"course\.papers|explain\.(device_limits|messages)|host\.(protocol|request)|tasks\.messages"
    r"|tasks\.[a-z]{1,40}\.problem|work\.(messages|problem|steps)"
)
_ERRORS = {
    kind.__name__: kind
    for kind in (*vars(errors).values(), UnsupportedVariant)
    if isinstance(kind, type) and issubclass(kind, EngineError)
}


_decoder: Any = cache(msgspec.msgpack.Decoder)


def encoded(message: Message, crossing: Crossing = NOTHING_BESIDE) -> bytes:
    """Return a message as msgpack. Raises NotOfTheSchema: it holds what may not cross, or it is too long."""
    message = changed(message, crossing)
    with _in_words("A message cannot be sent"):
        data = msgspec.msgpack.encode(message, enc_hook=_parts)
        _refuse_longer(data)
        return data


def decoded(data: bytes | memoryview, wanted: object, crossing: Crossing = NOTHING_BESIDE) -> Any:
    """Return the message, of one of these kinds, that is encoded. Raises NotOfTheSchema for anything else."""
    with _in_words("A message was refused"):
        _refuse_longer(data)
        return changed(_decoder(wanted, dec_hook=_made).decode(data), crossing)


def reply_of(answer: Reply, wanted: object, crossing: Crossing = NOTHING_BESIDE) -> Any:
    """Return the reply in an answer that was decoded, as its request declares it; with an error, None.

    Raises NotOfTheSchema for anything else.
    """
    with _in_words("An answer was refused"):
        return None if answer.error is not None else changed(_typed(answer.value, wanted), crossing)


@contextmanager
def _in_words(what: str) -> Iterator[None]:
    try:
        yield
    except NotOfTheSchema:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise NotOfTheSchema(what, why) from error


def _refuse_longer(data: bytes | memoryview) -> None:
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has {len(data):,} of {MOST_BYTES:,} bytes")


def _parts(value: object) -> object:
    """Return what msgspec does not know as something that it does."""
    if isinstance(value, np.ndarray):
        return _typed((value.dtype.name, value.shape, value.tobytes()), _Array)
    if isinstance(value, EngineError):
        # Of an error that a single module raises, what kind of error it is.
        return next(kind.__name__ for kind in type(value).__mro__ if kind.__name__ in _ERRORS), value.args
    if isinstance(value, np.generic | Mapping):
        return value.item() if isinstance(value, np.generic) else dict(value)
    raise TypeError(f"{name_of(type(value))} may not cross")


def _made(wanted: Any, plain: Any) -> Any:
    """Return what msgspec does not know, made of what came."""
    kind = get_origin(wanted) or wanted
    if kind is np.ndarray:
        dtype, shape, data = _typed(plain, _Array)
        return np.frombuffer(data, dtype).reshape(shape).copy()
    if issubclass(kind, EngineError):
        error = _ERRORS[plain[0]]
        words = tuple[str, Refusal] if error is UnsupportedVariant else tuple[str, ...]
        return error(*_typed(plain[1], words))
    if issubclass(kind, tuple):
        return kind(_typed(plain, kind.__orig_bases__[0]))
    if kind is object:
        return plain
    module, _, name = plain["type"].partition(":")
    struct = vars(import_module(PACKAGE + module)).get(name) if _MODULES.fullmatch(module) else None
    if not isinstance(struct, StructMeta):
        raise ValueError(f"there is no kind {plain['type'][:80]!r}")
    return _typed(plain, struct)


def _typed(plain: object, wanted: Any) -> Any:
    return msgspec.convert(plain, wanted, dec_hook=_made)
