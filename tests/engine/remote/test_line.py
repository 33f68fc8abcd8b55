"""A line between two ends in this process: order, what is dropped, what is refused, silence."""

import io
import os
import threading
import time

import numpy as np
import pytest

from engine.errors import NotOfTheSchema
from engine.remote import line as lines
from engine.remote.arrays import packed, unpack
from engine.remote.line import PIXELS, URGENT, Line

PATIENCE_S = 60.0


class End:
    """One end: what came, and why it ended."""

    def __init__(self, receiver, sender):
        self.came, self.why, self.ended, self.changed = [], None, threading.Event(), threading.Condition()
        self.reader, self.sender, self.is_started = io.BufferedReader(io.FileIO(receiver)), sender, False
        self.line = Line(self._take, self._end)

    def start(self):
        self.is_started = True
        self.line.start(self.reader, self.sender)

    def _take(self, structure, beside):
        with self.changed:
            self.came.append((bytes(structure), bytes(beside)))
            self.changed.notify_all()

    def _end(self, why):
        self.why = why
        self.ended.set()

    def wait_for(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.came) >= count, PATIENCE_S), self.why


@pytest.fixture
def ends():
    (a_in, b_out), (b_in, a_out) = os.pipe(), os.pipe()
    made = End(a_in, a_out), End(b_in, b_out)
    yield made
    for end in made:
        end.line.close()
        # A line that is read closes its reader itself.
        if not end.is_started:
            end.reader.close()
    # What still writes would write into the pipe of the next test, which gets the same number.
    for thread in threading.enumerate():
        if thread.name == "line-out":
            thread.join(1.0)
    for sender in (a_out, b_out):
        os.close(sender)


def test_that_a_message_comes_with_what_lies_beside_it(ends):
    one, other = ends
    one.start(), other.start()
    beside = os.urandom(300_000)
    one.line.transfer([(b"first", beside), (b"second", b"")], PIXELS)
    other.wait_for(2)
    assert other.came == [(b"first", beside), (b"second", b"")]


def test_that_an_urgent_message_overtakes_a_large_one(ends):
    one, other = ends
    one.line.transfer(((b"large", bytes(1 << 17)) for _ in range(20)), PIXELS)
    one.line.send(b"urgent", URGENT)
    one.start(), other.start()
    other.wait_for(21)
    assert [structure for structure, _ in other.came] == [b"urgent", *[b"large"] * 20]


def test_that_heartbeats_do_not_count_as_what_is_on_its_way(ends, monkeypatch):
    # They did: after hours without work the line took no more pixels.
    monkeypatch.setattr(lines, "BEAT_S", 1e-4)
    monkeypatch.setattr(lines, "_FIRST_AHEAD", 256)
    one, other = ends
    one.start(), other.start()
    time.sleep(0.3)
    one.line.transfer([(b"pixels", bytes(9))], PIXELS)
    other.wait_for(1)


def test_that_what_is_dropped_is_not_sent_on(ends):
    one, other = ends
    made = []

    def messages():
        for number in range(1000):
            made.append(number)
            yield b"%d" % number, bytes(1 << 16)

    one.start()
    transfer = one.line.transfer(messages(), PIXELS)
    # The other end does not read yet: only what may be ahead was made.
    transfer.is_dropped = True
    other.start()
    one.line.send(b"next", PIXELS)
    other.wait_for(1)
    with other.changed:
        assert other.changed.wait_for(lambda: other.came[-1][0] == b"next", PIXELS + PATIENCE_S)
    assert len(made) < 100


def test_that_the_end_of_the_other_side_is_seen():
    (a_in, b_out), (_, a_out) = os.pipe(), os.pipe()
    one = End(a_in, a_out)
    one.start()
    os.close(b_out)
    assert one.ended.wait(PATIENCE_S)
    assert one.why == ""
    os.close(a_out)


@pytest.mark.slow
def test_that_silence_is_the_end(ends, monkeypatch):
    monkeypatch.setattr(lines, "SILENT_S", 0.3)
    one, _ = ends
    one.start()
    assert one.ended.wait(PATIENCE_S)
    assert one.why == "nothing was heard for 0.3 s"


@pytest.mark.parametrize(
    "data",
    [
        lines._HEADER.pack(1 << 30, 0),
        lines._HEADER.pack(8, 1 << 31) + bytes(8),
        lines._HEADER.pack(0, 4) + bytes(4),
        lines._HEADER.pack(0, 8) + lines._COUNT.pack(1 << 40),
    ],
    ids=["structure", "beside", "size-of-beat", "beat"],
)
def test_that_lengths_that_cannot_be_are_refused_in_words(ends, data):
    one, other = ends
    one.start()
    os.write(other.sender, data)
    assert one.ended.wait(PATIENCE_S)
    assert one.why


def test_that_a_band_is_the_same_after_the_line():
    for rate in [1e4, 1e12]:
        for dtype, shape in [
            ("uint8", (33, 40, 3)),
            ("uint8", (33, 40, 4)),
            ("uint16", (33, 40)),
            ("float32", (7,)),
            ("float64", (3, 1, 1)),
            ("bool", (2, 3, 4, 5)),
            ("float32", (33, 40, 3)),
        ]:
            band = np.random.default_rng(3).integers(0, 255, shape).astype(dtype)
            codec, data = packed(band, rate)
            out = np.empty_like(band)
            unpack(codec, memoryview(bytes(data)), out)
            assert out.tobytes() == band.tobytes()


def test_that_pixels_are_packed_where_the_line_is_slower_and_pixels_of_another_size_are_refused():
    band = np.zeros((64, 64, 4), np.uint8)
    assert (packed(band, 1e6)[0], packed(band, 1e10)[0]) == ("zstd", "raw")
    for codec in ["zstd", "raw", "grey", "gzip"]:
        data = packed(band, 1e4)[1]
        with pytest.raises(NotOfTheSchema):
            unpack(codec, memoryview(bytes(data)), np.empty((2, 2, 3), np.uint8))
