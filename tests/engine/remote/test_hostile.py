"""A server, or a client, that sends anything: it ends in words, in bounded time and memory.

What a real server sends to a real session is recorded, changed, and read as the relay reads it.
"""

import io
import os
import random
import resource
import struct
import threading
import time

import msgspec
import numpy as np
import pytest

from engine.course.papers import SaveCourse
from engine.errors import EngineError
from engine.host import shared
from engine.host.protocol import Saved
from engine.host.request import Check, HostOptions, Preview, Reply, Run, Seen, ToHost
from engine.mask.presets import preset
from engine.message import name_of
from engine.remote import line as lines
from engine.remote import relay as relays
from engine.remote.coding import encoded
from engine.remote.line import Line
from engine.remote.schema import ArrayRows, Arrays, Written
from engine.remote.server import Server
from engine.work.messages import ListRequest
from tests.engine.remote.sshd import Piped
from tests.picture_jobs import mask_job

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MUTATIONS = 150
PATIENCE_S = 60.0
# Of a msgpack of the longest structure, all of it empty lists, 64 bytes each; twice for what is made of it.
MOST_GROWTH_BYTES = 768 << 20


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return what a server sends in a session, after its greeting, and the requests that it answers."""
    from tests.engine.remote.conftest import Asking

    record = tmp_path_factory.mktemp("hostile") / "record"
    asking = Asking(Piped(record=str(record)), sample="impulse")
    try:
        job = mask_job(mask=preset("sobel-x"), picture=asking.picture())
        seen = Preview(job, Seen(0, (0, 9), (0, 9)))
        requests = Check(job), Preview(job), seen, Run(job, 0.01), ListRequest()
        for request in requests:
            asking.ask(request)
        with pytest.raises(EngineError):
            asking.ask(Preview(mask_job(mask=preset("box-3"), picture=job.picture, variant="none")))
    finally:
        asking.close()
    return record.read_bytes().partition(b"\n")[2], requests


class FakeConnection:
    """What a relay takes for its client."""

    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)


def frames_of(stream):
    """Return where the frames of a stream begin."""
    at, found = 0, []
    while at + lines._HEADER.size <= len(stream):
        found.append(at)
        at += lines._HEADER.size + sum(lines._HEADER.unpack_from(stream, at))
    return found


def mutated(stream, random):
    """Return a stream with one to four changes."""
    data, starts = bytearray(stream), frames_of(stream)
    for _ in range(random.randint(1, 4)):
        at = random.choice(starts)
        kind = random.randrange(9)
        if kind == 0:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at + random.randrange(lines._HEADER.size)] = random.randrange(256)
        elif kind == 2:
            struct.pack_into("!I", data, at, random.choice([0, 1, 2**16, 2**31, 2**32 - 1]))
        elif kind == 3:
            del data[random.randrange(len(data)) :]
        elif kind == 4:
            begin = random.randrange(len(data))
            del data[begin : begin + random.randrange(1, 40)]
        elif kind == 5:
            data[at:at] = os.urandom(random.randrange(1, 200))
        elif kind == 6:
            # Numbers of the schema: sizes, rows, ids.
            begin = min(at + lines._HEADER.size + random.randrange(60), max(len(data) - 9, 0))
            data[begin : begin + 9] = b"\xcf" + struct.pack("!Q", random.choice([2**63, 2**64 - 1, 2**40]))
        elif kind == 7:
            bodies = b"\x81\xa4type" * random.choice([50, 20_000]), b"\x90" * (1 << 16)
            data[at:at] = structure_frame(random.choice(bodies))
        else:
            names = b"host.request:Reply results.measurement opaque cpu-separable uint8 float32".split()
            name = random.choice(names)
            begin = data.find(name)
            if begin >= 0:
                data[begin : begin + len(name)] = bytes(random.choice(b"abz:.#\xff\0") for _ in name)
        if not data:
            break
        starts = [start for start in starts if start < len(data) - lines._HEADER.size] or [0]
        if len(data) < 64:
            break
    return bytes(data)


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read_all(stream, take, patience_s=PATIENCE_S):
    """Let a line read a stream to its end; return why it ended."""
    receiver, sender = os.pipe()
    nothing = os.open(os.devnull, os.O_WRONLY)
    ended, why = threading.Event(), []
    line = Line(take, lambda words: (why.append(words), ended.set()))

    def feed():
        try:
            with os.fdopen(sender, "wb") as pipe:
                pipe.write(stream)
        except OSError:
            pass

    feeding = threading.Thread(target=feed, daemon=True)
    feeding.start()
    # As after the handshake: a heartbeat may say that all of it has come.
    line._sent = 1 << 40
    line.start(io.BufferedReader(io.FileIO(receiver)), nothing)
    assert ended.wait(patience_s), "it hangs"
    feeding.join(patience_s)
    os.close(nothing)
    return why[0]


def test_that_changed_replies_end_in_words(recorded):
    stream, requests = recorded
    chance = random.Random(29)
    shared.use_prefix(shared.new_prefix())
    peak, slowest = peak_bytes(), 0.0
    lost = answered = 0
    for number in range(MUTATIONS):
        data = stream if number == 0 else mutated(stream, chance)
        connection = FakeConnection()
        relay = relays.Relay(Piped(), connection, HostOptions())
        # As the client numbers them: the picture is opened here first.
        relay._requests = dict(enumerate(requests, start=2))
        begin = time.monotonic()
        why = read_all(data, relay._take)
        slowest = max(slowest, time.monotonic() - begin)
        said = [message for message in connection.sent if isinstance(message, Reply)]
        answered += len(said)
        lost += bool(why)
        assert isinstance(why, str)
        assert all(isinstance(message.error, EngineError | None) for message in said)
        if number == 0:
            assert (why, len(said)) == ("", len(requests))
        shared.unlink(*list(shared._attached))
    assert peak_bytes() - peak < MOST_GROWTH_BYTES
    assert slowest < PATIENCE_S
    # Most are noticed; what is not was a change of a pixel, or of what is not waited for.
    assert lost > MUTATIONS // 4
    assert answered


def frame(message, beside=b""):
    return structure_frame(encoded(message), beside)


def structure_frame(structure, beside=b""):
    return lines._HEADER.pack(len(structure), len(beside)) + structure + beside


SAVED = Reply(5, Saved("there"))


@pytest.fixture
def saving(tmp_path):
    """Return a function that reads what a server sends while a paper is saved: why it ends, the answers."""
    shared.use_prefix(shared.new_prefix())
    folder = tmp_path / "papers"
    folder.mkdir()

    def read(*places, end=SAVED):
        connection = FakeConnection()
        relay = relays.Relay(Piped(), connection, HostOptions())
        relay._requests = {5: SaveCourse("lab", (), str(folder))}
        sent = [(Arrays("k", (((3,), "uint8"),), 5), b""), (ArrayRows("k", 0, 0, 3, "raw"), b"abc")]
        messages = [one for place in places for one in (*sent, (Written(5, place, "k"), b""))]
        stream = b"".join(frame(*one) for one in [*messages, (end, b"")])
        why = read_all(stream, relay._take)
        return why, [message for message in connection.sent if isinstance(message, Reply)]

    yield read
    shared.unlink(*list(shared._attached))


@pytest.mark.parametrize(
    "place", ["../x", "sub/../../x", "/x", ".bashrc", "a\\b", "a\nb", "link/x", "link.md"]
)
def test_that_a_server_writes_nowhere_but_where_the_window_saves(saving, tmp_path, place):
    (tmp_path / "papers" / "link").symlink_to(tmp_path)
    (tmp_path / "papers" / "link.md").symlink_to(tmp_path / "x")
    why, answers = saving(place)
    assert "A file was refused" in why
    assert not answers
    assert {path.name for path in tmp_path.iterdir()} == {"papers"}


def test_that_a_file_that_the_window_waits_for_has_come_or_the_answer_says_no(saving, tmp_path):
    why, (answer,) = saving("sub/lab.md")
    assert (why, answer.error, answer.value.path) == ("", None, str(tmp_path / "papers"))
    assert (tmp_path / "papers" / "sub" / "lab.md").read_bytes() == b"abc"
    why, (answer,) = saving()
    assert why == ""
    assert str(tmp_path / "papers") in answer.error.what


def of_kind(name):
    return msgspec.msgpack.encode({"type": "host.request:Reply", "id": 5, "value": {"type": name}})


def bomb():
    library = pytest.importorskip("imagecodecs")
    forms = Arrays("k", (((1 << 20,), "uint8"),), 5)
    packed = library.zstd_encode(b"\0" * (64 << 20))
    return frame(forms) + frame(ArrayRows("k", 0, 0, 1 << 20, "zstd"), packed)


def arrays_of(shape, dtype, count=1):
    return b"".join(frame(Arrays(f"k{n}", ((shape, dtype),), 5)) for n in range(count))


HOSTILE = {
    "a file of nothing": lambda: frame(Written(5, "lab.md", "none")),
    "an array without an axis": lambda: arrays_of((), "uint8"),
    "16 GiB": lambda: arrays_of((1 << 31,), "float64"),
    "more than there is": lambda: arrays_of((1 << 62,), "uint8"),
    "no such type": lambda: arrays_of((8,), "object"),
    "pixels of nothing": lambda: frame(ArrayRows("k", 0, 0, 1, "raw"), b"a"),
    "a bomb": bomb,
    "deep": lambda: structure_frame(b"\x91" * 3000 + b"\xc0"),
    "os.system": lambda: structure_frame(of_kind("os:system")),
    "a class": lambda: structure_frame(of_kind("remote.ssh:RemoteServer")),
    "a kind without its fields": lambda: structure_frame(of_kind(name_of(Saved))),
    "noise": lambda: np.random.default_rng(3).bytes(1 << 14),
    "more than may be": lambda: lines._HEADER.pack(1, 1 << 24) + b"a",
}


def test_that_what_no_server_sends_ends_the_line_in_words():
    for sent in HOSTILE:
        shared.use_prefix(shared.new_prefix())
        connection = FakeConnection()
        relay = relays.Relay(Piped(), connection, HostOptions())
        relay._requests = {5: SaveCourse("lab", (), "nowhere")}
        why = read_all(HOSTILE[sent](), relay._take)
        shared.unlink(*list(shared._attached))
        assert why
        assert not connection.sent


def test_that_a_server_that_says_nonsense_is_lost_in_words(asking):
    program = "import os,sys; os.write(1, os.urandom(1 << 20)); sys.stdin.read()"
    remote = asking(Piped(program=program))
    with pytest.raises(EngineError) as caught:
        remote.ask(ListRequest())
    assert caught.value.why


def test_that_changed_requests_end_a_server_in_words():
    """The same for what a client sends: real requests, changed."""
    stream = frame(ToHost(1, ListRequest())) + frame(ToHost(3, ListRequest()))
    chance, peak = random.Random(7), peak_bytes()
    for _ in range(MUTATIONS // 2):
        server = Server()
        why = read_all(mutated(stream, chance), server._take)
        assert isinstance(why, str)
        server.close()
    assert peak_bytes() - peak < MOST_GROWTH_BYTES
