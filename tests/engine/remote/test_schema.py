"""What crosses a line: every message, nothing that is none, and the first words of a server."""

import importlib
import io
import json
import pkgutil
import threading
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

import engine
from engine.course.papers import PAPERS, CourseCode, CourseRequest, RecordedCourse
from engine.device.interpreter import KernelFault
from engine.errors import EngineError, LineLost, NotOfTheSchema, UnknownName
from engine.explain.device_limits import KeptLimits
from engine.files.standard_streams import printable
from engine.geometry.block import Block, Refusal, UnsupportedVariant
from engine.host import request as messages
from engine.host.protocol import CloseTiled, Filtered, TiledScreen, WantedValues
from engine.host.request import Cancel, HostOptions, Reply, Request, SharedArray, ToHost, answer
from engine.mask.mask import Mask, Weights
from engine.message import Message, name_of
from engine.remote import VERSION, coding, ssh
from engine.remote.coding import decoded, encoded, reply_of
from engine.remote.schema import DIGEST, FROM_SERVER, TO_SERVER, ArrayRows, Arrays, Hello, Written
from engine.remote.ssh import RemoteServer
from engine.tasks.network.problem import StageRequest
from engine.tasks.product.problem import MatrixProduct, ProductGrid
from engine.work.messages import EffectsRequest, ListRequest, PictureJob
from engine.work.steps import MaskStep
from tests.made_runs import make_result


def kinds():
    """Return every kind of message of the program."""
    for module in pkgutil.walk_packages(engine.__path__, "engine."):
        if module.name.endswith((".messages", ".protocol", ".request", ".problem")):
            importlib.import_module(module.name)
    found, waiting = [], [Message]
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        found += [kind for kind in below if kind.__module__.startswith("engine.")]
    return found


def test_that_msgspec_reads_every_kind_and_every_reply():
    assert len(kinds()) > 80
    for kind in kinds():
        msgspec.msgpack.Decoder(kind)
        msgspec.msgpack.Decoder(getattr(kind, "reply", None))
        if issubclass(kind, Request) or hasattr(kind, "answers") or hasattr(kind, "task"):
            assert coding._MODULES.fullmatch(kind.__module__.removeprefix("engine."))


def came(reply, wanted):
    """Return what a reply is on the other side."""
    return reply_of(decoded(encoded(Reply(1, reply)), FROM_SERVER), wanted)


def test_that_what_comes_is_what_was_sent():
    for value in [
        Hello("1", "gpu7", HostOptions(described=ListRequest())),
        ToHost(3, messages.Preview(StageRequest(), messages.Seen(1, (0, 2), (3, 4)))),
        ToHost(4, WantedValues(TiledScreen("result-1", ((2, 3),), is_kept=True), (0, 2), (1, 3))),
        Cancel(7),
    ]:
        assert decoded(encoded(value), TO_SERVER) == value
    refused = messages.Availability("tiled", Refusal("block", "Too large", nearest_block=Block(8, 8)))
    for value, wanted in [
        ((refused, messages.Availability("naive")), messages.Check.reply),
        (Filtered(None, None, "naive", "cpu", float("inf"), make_result()), PictureJob.reply),
        ((b"bytes", b""), EffectsRequest.reply),
        (None, CloseTiled.reply),
    ]:
        assert came(value, wanted) == value


@pytest.mark.slow
def test_that_replies_of_each_room_come_as_they_were():
    asked = [ListRequest(of) for of in ("filters", "operations", "chains")]
    asked += [kind(paper.key) for paper in PAPERS for kind in (CourseRequest, CourseCode, RecordedCourse)]
    asked += [KeptLimits("recorded"), ProductGrid(MatrixProduct(8, 8, 8), (4, 8))]
    for request in asked:
        reply = answer(request, lambda progress: None)
        assert came(reply, request.reply) == reply


def test_that_an_error_keeps_its_kind_and_words():
    refused = UnsupportedVariant("tiled", Refusal("block", "Too large", nearest_block=Block(8, 8)))
    for error in (UnknownName("mask 'x'", "there is none", "Choose another."), refused):
        there = decoded(encoded(Reply(1, error=error)), FROM_SERVER).error
        assert (type(there), str(there), there.reason) == (type(error), str(error), error.reason)
    # Nothing else comes with it. Of what a package above this one raises, the words.
    assert reply_of(Reply(1, [b"x"], error=EngineError("a")), Block) is None
    error = decoded(encoded(Reply(1, error=KernelFault("a", "b", "c"))), FROM_SERVER).error
    assert (type(error), error.args) == (EngineError, ("a", "b", "c"))


def test_that_an_array_keeps_its_bits():
    mask = Mask([[0.1, -0.0], [1e-300, 3.0]], anchor=(1, 0), offset=0.5, name="odd")
    there = came(mask, Mask)
    assert (there, there.name) == (mask, "odd")
    assert there.weights.tobytes() == mask.weights.tobytes()
    assert not there.weights.flags.writeable


def test_that_what_is_no_mask_is_refused():
    data, two = encoded(Reply(1, MaskStep(mask=Mask([[1.0, 2.0]])))), np.float64(2.0).tobytes()
    for wrong in (np.nan, np.inf, 1e300):
        with pytest.raises(NotOfTheSchema, match="not a mask"):
            reply_of(decoded(data.replace(two, np.float64(wrong).tobytes()), FROM_SERVER), MaskStep)


def test_that_neither_functions_nor_pixels_cross_within_a_message():
    for message, says in [
        (ToHost(1, print), "may not cross"),
        (Reply(1, SharedArray("x", (1,), "uint8")), "shared memory"),
    ]:
        with pytest.raises(NotOfTheSchema, match=says):
            encoded(message)


def plain(value):
    return msgspec.msgpack.encode(value)


def test_that_a_field_of_another_type_is_refused():
    tag = {"type": name_of(Cancel)}
    assert decoded(plain(tag | {"id": 7}), TO_SERVER) == Cancel(7)
    for wrong in ("7", 7.5, None, True, [], {}):
        with pytest.raises(NotOfTheSchema):
            decoded(plain(tag | {"id": wrong}), TO_SERVER)
    for message in (tag, tag | {"id": 7, "more": 7}, tag | {7: 7}, tag | {"ID": 7}, {"id": 7}, [7], 7, None):
        with pytest.raises(NotOfTheSchema):
            decoded(plain(message), TO_SERVER)


def test_that_a_name_of_no_kind_is_refused():
    for name in [
        "messages:Cancel",
        "host.request:",
        "os:system",
        "host.request:__import__",
        "device.cuda:Cuda",
        "host..messages:Cancel",
        "host.request:import_module",
        "host.request:EngineError",
        "host.request:Message",
        "host.request:Ready.of",
        "x" * 10_000,
        None,
        7,
    ]:
        with pytest.raises(NotOfTheSchema):
            decoded(plain({"type": name, "id": 1}), FROM_SERVER)
        for request in ({"type": name, "id": 1}, {"type": "host.request:Check", "job": {"type": name}}):
            with pytest.raises(NotOfTheSchema):
                decoded(plain({"type": "host.request:ToHost", "id": 1, "request": request}), TO_SERVER)
        error = {"type": "host.request:Reply", "id": 1, "error": [name, ["a", "b", "c"]]}
        with pytest.raises(NotOfTheSchema):
            decoded(plain(error), FROM_SERVER)


def test_that_a_kind_is_refused_where_another_may_be():
    for request in (Cancel(7), StageRequest(), messages.Check(ListRequest())):
        data = encoded(ToHost(1, request))
        with pytest.raises(NotOfTheSchema):
            decoded(data, TO_SERVER)
    for reply, wanted in [(b"x", tuple[messages.Availability, ...]), (Cancel(7), Filtered), ((), None)]:
        with pytest.raises(NotOfTheSchema):
            came(reply, wanted)


def test_that_a_number_or_a_text_beyond_its_limit_is_refused():
    for message in [
        ArrayRows("k", -1, 0, 1, "raw"),
        ArrayRows("k", 0, -1, 1, "raw"),
        ArrayRows("k", 0, 0, 0, "raw"),
        ArrayRows("k" * 81, 0, 0, 1, "raw"),
        ArrayRows("", 0, 0, 1, "raw"),
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


def test_that_another_kind_and_what_is_nested_or_long_are_refused():
    for data, wanted, says in [
        (encoded(Cancel(7)), FROM_SERVER, None),
        (b"\x91" * 100_000 + b"\xc0", FROM_SERVER, None),
        (b"\x81\xa4type" * 100_000 + b"\xc0", FROM_SERVER, None),
        (encoded(Reply(1, b"")).replace(b"\xc4\x00", b"\x91" * 100_000 + b"\xc0"), FROM_SERVER, "Recursion"),
        (b"\x90" * (coding.MOST_BYTES + 1), FROM_SERVER, "bytes"),
    ]:
        with pytest.raises(NotOfTheSchema, match=says):
            decoded(data, wanted)


def test_that_an_array_of_an_impossible_shape_is_refused():
    for shape in [[-1], [2**62, 2**62], [0, 2**60], ["3"], [1.5], [True], [1] * 9, None]:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            msgspec.convert(["float64", shape, b"12345678"], Weights, dec_hook=coding._made)


GOOD = b"HALOSCOPE " + json.dumps({"version": VERSION, "schema": DIGEST}).encode() + b"\n"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b2J\x08\r\u202e"


def why_not(output, said=""):
    """Return why a server with this output is refused; `said` is what ssh has printed."""
    process = SimpleNamespace(stdout=output, wait=lambda timeout: 0, poll=lambda: 0)
    return RemoteServer("evil").why_not_greeted(process, lambda: said)


def test_that_a_greeting_after_what_a_shell_prints_is_taken():
    assert why_not(io.BytesIO(b"Welcome!\n" + GOOD)) is None


def test_that_a_greeting_of_another_kind_is_refused_in_words():
    for greeting in [
        b"",
        b"A" * (1 << 20),
        b"x\n" * (1 << 19),
        b"HALOSCOPE " + b"[" * 50_000 + b"\n",
        b"HALOSCOPE [1]\n",
        b'HALOSCOPE {"version":1e999,"schema":NaN,"missing":7}\n',
        b"HALOSCOPE " + json.dumps({"version": ESCAPES, "schema": "x"}).encode() + b"\n",
        b'HALOSCOPE {"missing":"python","python":"\\u001b[2J"}\n',
    ]:
        refusal = why_not(io.BytesIO(greeting), f"banner\n{ESCAPES}")
        assert isinstance(refusal, LineLost)
        assert "evil" in refusal.what
        assert printable(str(refusal)).isprintable()


def test_that_a_server_that_does_not_greet_is_named_and_given_up(monkeypatch):
    monkeypatch.setattr(ssh, "GREETED_S", 0.1)
    over = threading.Event()
    refusal = why_not(SimpleNamespace(readline=lambda most: b"" * over.wait()))
    over.set()
    assert isinstance(refusal, LineLost)
    assert "evil does not answer" in refusal.what
