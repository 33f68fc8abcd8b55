"""What crosses a line: every message of the program, and nothing that is not one."""

import importlib
import pkgutil
import types
import typing
from collections.abc import Mapping

import msgspec
import numpy as np
import pytest

import engine
from engine.errors import EngineError, UnknownName
from engine.geometry.block import Block
from engine.geometry.refusal import Refusal, UnsupportedVariant
from engine.host.messages import Answer, Cancel, ToHost
from engine.host.process import HostOptions
from engine.host.request import Preview, Request, Seen
from engine.host.shared_array import SharedArray
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.remote import schema
from engine.remote.messages import FROM_SERVER, TO_SERVER, Arrays, Band, Begin, Written
from engine.remote.schema import NotOfTheSchema, decoded, encoded, name_of
from engine.work.messages import ListRequest

PLAIN = (bool, int, float, str, bytes, type(None), tuple, dict, np.ndarray)


def kinds():
    """Return every kind that a message of the program may hold, from the types of its fields."""
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(engine.__path__, "engine.")
        if module.name.endswith(".messages") or module.name in ("engine.host.protocol", "engine.host.tiles")
    ]
    waiting = [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and schema._may_cross(kind)
    ]
    found = []
    while waiting:
        kind = waiting.pop()
        if kind in found or not schema._may_cross(kind):
            continue
        found.append(kind)
        if not issubclass(kind, EngineError):
            for hint in schema.types_of(kind).values():
                waiting += parts_of(hint)
    return sorted(found, key=lambda kind: kind.__qualname__)


def parts_of(hint):
    if isinstance(hint, typing.TypeVar):
        hint = hint.__bound__ or object
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return
    if origin is typing.Annotated:
        yield from parts_of(typing.get_args(hint)[0])
        return
    if isinstance(origin, type) and origin.__module__.startswith("engine."):
        yield origin
    elif isinstance(origin, type) and origin not in (np.ndarray, types.UnionType):
        assert issubclass(origin, (*PLAIN, Mapping)) or origin in (object, typing.Any), hint
    if origin is not np.ndarray:
        for part in typing.get_args(hint):
            if part is not Ellipsis:
                yield from parts_of(part)


def test_that_every_kind_in_a_message_has_a_name_on_the_line():
    for kind in kinds():
        assert schema._kind(name_of(kind)) is kind


def test_that_what_comes_is_what_was_sent():
    for value in [
        Begin("1", "gpu7", HostOptions(described=ListRequest())),
        ToHost(3, Preview(ListRequest(), Seen(1, (0, 2), (3, 4)))),
        Cancel(7),
        Answer(1, (Block(32, 8), None, "text", 2.5, {"a": (1,)})),
        Answer(3, {("row", 1): {"x": "y"}}),
        Answer(4, float("inf")),
        preset("sobel-x"),
    ]:
        assert decoded(encoded(value)) == value


def test_that_an_error_keeps_its_kind_and_words():
    refused = UnsupportedVariant("tiled", Refusal("block", "Too large", nearest_block=Block(8, 8)))
    for error in (UnknownName("mask 'x'", "there is none", "Choose another."), refused):
        came = decoded(encoded(Answer(1, error=error))).error
        assert (type(came), str(came), came.reason) == (type(error), str(error), error.reason)


def test_that_an_array_keeps_its_bits():
    mask = Mask([[0.1, -0.0], [1e-300, 3.0]], anchor=(1, 0), offset=0.5, name="odd")
    assert decoded(encoded(mask)).weights.tobytes() == mask.weights.tobytes()


def test_that_a_function_does_not_cross():
    with pytest.raises(NotOfTheSchema, match="may not cross"):
        encoded(ToHost(1, print))


def test_that_pixels_do_not_cross_within_a_message():
    with pytest.raises(NotOfTheSchema, match="shared memory"):
        encoded(Answer(1, SharedArray("x", (1,), "uint8")))


def plain(value):
    return msgspec.msgpack.encode(value)


def test_that_a_field_of_another_type_is_refused():
    ((name, _),) = msgspec.msgpack.decode(encoded(Cancel(7))).items()
    for wrong in ("7", 7.0, None, True, [], {"dict": []}, {}):
        with pytest.raises(NotOfTheSchema):
            decoded(plain({name: {"id": wrong}}), TO_SERVER)
    for fields in ({}, {"id": 7, "more": 7}, {7: 7}, {"ID": 7}, [7], 7, None):
        with pytest.raises(NotOfTheSchema):
            decoded(plain({name: fields}), TO_SERVER)


def test_that_a_name_of_no_kind_is_refused():
    for name in [
        "messages:Cancel",
        "host.messages:",
        "os:system",
        "host.messages:__import__",
        "device.cuda:Cuda",
        "host..messages:Cancel",
        "host.messages:dataclass",
        "host.messages:EngineError",
        "x" * 10_000,
    ]:
        with pytest.raises(NotOfTheSchema):
            decoded(plain({name: {"id": 1}}))


def test_that_a_number_or_a_text_beyond_its_limit_is_refused():
    for message in [
        Band("k", -1, 0, 1, "raw"),
        Band("k", 0, -1, 1, "raw"),
        Band("k", 0, 0, 0, "raw"),
        Band("k" * 81, 0, 0, 1, "raw"),
        Band("", 0, 0, 1, "raw"),
        Arrays("k", (((), "uint8"),)),
        Arrays("k", (((1,) * 9, "uint8"),)),
        Arrays("k", (((-1,), "uint8"),)),
        Arrays("k", (((1,), "object"),)),
        Arrays("k", (((1,), "uint8"),) * 4097),
        Written(-1, "a", "k"),
        Written(1, "a" * 401, "k"),
    ]:
        data = encoded(message)
        with pytest.raises(NotOfTheSchema):
            decoded(data, FROM_SERVER)


def test_that_a_kind_that_no_one_waits_for_is_refused():
    with pytest.raises(NotOfTheSchema):
        decoded(encoded(Cancel(7)), FROM_SERVER)


def test_that_deep_nesting_is_refused():
    for begin in (b"\x91", b"\x81\xa4dict"):
        with pytest.raises(NotOfTheSchema):
            decoded(begin * 100_000 + b"\xc0")
    with pytest.raises(NotOfTheSchema, match="nested"):
        decoded(b"\x91" * 100 + b"\xc0")


def test_that_an_array_of_an_impossible_shape_is_refused():
    for shape in [[-1], [2**62, 2**62], [0, 2**60], ["3"], [1.0], [True], [1] * 9, None]:
        with pytest.raises(NotOfTheSchema):
            decoded(plain({"array": ["float64", shape, b"12345678"]}))


def test_that_a_long_message_is_refused_before_it_is_read():
    with pytest.raises(NotOfTheSchema, match="bytes"):
        decoded(b"\x90" * (schema.MOST_BYTES + 1))


def test_that_every_request_may_cross():
    for kind in Request.__subclasses__():
        if kind.__module__.startswith("engine.") and "__dataclass_fields__" in vars(kind):
            assert schema._may_cross(kind)
