"""One line between two programs: messages in frames over two pipes, the urgent first, with heartbeats.

A message is the length of its structure (4 bytes), the structure (`engine.remote.schema`), and pixels beside
it. It is cut into frames, so that no large one holds up a small one. Nothing is sent further ahead than the
line takes in a moment: what is dropped then is not on its way already. Both sides say every 2 s that they are
there, and how much has come; from that the rate of the line is measured.
"""

import io
import itertools
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import IO, NamedTuple

from engine.errors import EngineError
from engine.remote import schema
from engine.remote.schema import NotOfTheSchema

BEAT_S = 2.0
SILENT_S = 8.0
"""A line on which nothing was heard for so long is lost."""

URGENT, ANSWERS, PIXELS, WHOLE = range(4)
"""What goes first: events and requests; answers; pixels that are looked at; whole pictures and values."""

FRAME_BYTES = 1 << 16
MOST_MESSAGE = schema.MOST_BYTES + (4 << 20)
_MOST_OPEN = 8
_LOOK_S = 0.25
# Bytes in the frame, number of its message, bytes of the whole message, kind.
_HEADER = struct.Struct("!IIIB")
_LENGTH = struct.Struct("!I")
_COUNT = struct.Struct("!Q")
_LAST, _DROPPED, _BEAT = 1, 2, 4
# How much has come is said at once after so many bytes, and a moment after fewer: each wakes both sides.
_ACKNOWLEDGE_BYTES = 1 << 16
_MUCH_BYTES, _SOON_S, _LATER_S = 1 << 20, 0.004, 0.02
# Before a rate is known: 100 Mbit/s.
_FIRST_RATE = 12.5e6
# What may be on its way at least and at most, and the part of a second that it may take.
_LEAST_AHEAD, _FIRST_AHEAD, _MOST_AHEAD, _AHEAD_S = 32 << 10, 256 << 10, 32 << 20, 0.04

Message = tuple[bytes, "bytes | memoryview"]
"""The structure of a message, and what lies beside it."""


class Sent(NamedTuple):
    """A moment of sending: bytes sent until then, bytes known to have come, and when."""

    bytes: int
    come: int
    at: float


class Transfer:
    """Messages that are sent one after the other, made as the line takes them; dropped when that is asked."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._messages: Iterator[Message] = iter(messages)
        self._rest: list[memoryview] = []
        self._number = self._total = 0
        self.is_dropped = False

    def next_frame(self, numbers: Iterator[int]) -> list["bytes | memoryview"] | None:
        """Return the next frame in parts; None at the end."""
        if self.is_dropped:
            begun, self._rest = len(self._rest) > 0, []
            self._messages = iter(())
            return [_HEADER.pack(0, self._number, 0, _DROPPED)] if begun else None
        if not self._rest:
            message = next(self._messages, None)
            if message is None:
                return None
            structure, beside = message
            head = memoryview(_LENGTH.pack(len(structure)) + structure)
            self._rest = [part for part in (head, memoryview(beside)) if len(part)]
            self._number, self._total = next(numbers) & 0xFFFFFFFF, len(head) + len(beside)
        parts, room = [], FRAME_BYTES
        while self._rest and room:
            part = self._rest[0][:room]
            parts.append(part)
            room -= len(part)
            self._rest[0] = self._rest[0][len(part) :]
            if not len(self._rest[0]):
                del self._rest[0]
        header = _HEADER.pack(FRAME_BYTES - room, self._number, self._total, 0 if self._rest else _LAST)
        return [header, *parts]


class Line:
    """Sends and receives, once it is started; what is sent before waits.

    `on_message` gets the structure of each message and what lies beside it, on a thread; `on_end`, once, why
    the line ended: in words, empty where one of the sides closed it.
    """

    _receiver: io.BufferedReader
    _sender: int

    def __init__(
        self, on_message: Callable[[memoryview, memoryview], None], on_end: Callable[[str], None]
    ) -> None:
        self._on_message, self._on_end = on_message, on_end
        self._changed = threading.Condition()
        self._queues: tuple[deque[Transfer], ...] = tuple(deque() for _ in range(4))
        self._numbers = itertools.count(1)
        self._received = self._acknowledged = 0
        self._acknowledged_at = 0.0
        self._sent = self._come = 0
        self._moments: deque[Sent] = deque()
        self._rates: deque[float] = deque(maxlen=32)
        self._shortest_s = 1.0
        self._heard = self._spoken = time.monotonic()
        self._is_over = False
        self._over = threading.Event()

    def start(self, receiver: io.BufferedReader, sender: int) -> None:
        """Send and receive from now on."""
        self._receiver, self._sender = receiver, sender
        widen(receiver.fileno(), sender)
        self._heard = time.monotonic()
        for act, name in ((self._write, "line-out"), (self._read, "line-in"), (self._watch, "line-watch")):
            threading.Thread(target=act, name=name, daemon=True).start()

    @property
    def rate(self) -> float:
        """Bytes that the line takes in a second, as measured by what has come."""
        return max(tuple(self._rates), default=_FIRST_RATE)

    def send(self, message: bytes, priority: int = URGENT) -> Transfer:
        """Send the structure of a message."""
        return self.transfer([(message, b"")], priority)

    def transfer(self, messages: Iterable[Message], priority: int) -> Transfer:
        """Send messages one after the other, each made when the line takes it."""
        transfer = Transfer(messages)
        with self._changed:
            self._queues[priority].append(transfer)
            self._changed.notify()
        return transfer

    def close(self) -> None:
        """Send nothing any more; the other side sees the end."""
        self._end("")

    def _end(self, why: str) -> None:
        with self._changed:
            if self._is_over:
                return
            self._is_over = True
            self._over.set()
            self._changed.notify()
        self._on_end(why)

    def _ahead_bytes(self) -> float:
        """Return how many bytes may be on their way: as much as keeps the line busy."""
        if not self._rates:
            return _FIRST_AHEAD
        rate = self.rate
        return min(max(1.5 * rate * self._shortest_s, rate * _AHEAD_S, _LEAST_AHEAD), _MOST_AHEAD)

    def _next(self) -> Transfer | None:
        """Wait for something to send; None for a heartbeat. Under the lock."""
        while not self._is_over:
            acknowledge_in_s = self._acknowledge_in_s()
            if acknowledge_in_s <= 0:
                return None
            if self._queues[URGENT]:
                return self._queues[URGENT][0]
            if self._sent - self._come < self._ahead_bytes():
                for queue in self._queues[1:]:
                    if queue:
                        return queue[0]
            due = self._spoken + BEAT_S - time.monotonic()
            if due <= 0:
                return None
            self._changed.wait(min(due, acknowledge_in_s))
        return None

    def _acknowledge_in_s(self) -> float:
        """Return how long it may wait to say how much has come."""
        left = self._received - self._acknowledged
        if not left:
            return BEAT_S
        if left >= _MUCH_BYTES:
            return 0.0
        moment = _SOON_S if left >= _ACKNOWLEDGE_BYTES else _LATER_S
        return self._acknowledged_at + moment - time.monotonic()

    def _write(self) -> None:
        try:
            while True:
                with self._changed:
                    transfer = self._next()
                    if self._is_over:
                        return
                    if transfer is None:
                        self._acknowledged, self._acknowledged_at = self._received, time.monotonic()
                frame: list[bytes | memoryview] | None
                if transfer is None:
                    header = _HEADER.pack(_COUNT.size, 0, 0, _BEAT)
                    frame = [header, _COUNT.pack(self._acknowledged)]
                else:
                    frame = transfer.next_frame(self._numbers)
                if frame is None:
                    with self._changed:
                        for queue in self._queues:
                            if queue and queue[0] is transfer:
                                queue.popleft()
                    continue
                now = time.monotonic()
                self._spoken = now
                self._sent += sum(map(len, frame))
                if not self._moments or now - self._moments[-1].at > 1e-3:
                    self._moments.append(Sent(self._sent, self._come, now))
                _write_all(self._sender, frame)
        except OSError as error:
            self._end("" if isinstance(error, BrokenPipeError) else str(error))
        except Exception as error:  # noqa: BLE001 - the thread's boundary
            self._end(f"{type(error).__name__}: {error}")

    def _read(self) -> None:
        # By number: the memory of the message, and how much of it has come.
        open_messages: dict[int, tuple[bytearray, int]] = {}
        try:
            while (header := self._receiver.read(_HEADER.size)) and len(header) == _HEADER.size:
                length, number, total, flags = _HEADER.unpack(header)
                if length > FRAME_BYTES or flags not in (0, _LAST, _DROPPED, _BEAT) or total > MOST_MESSAGE:
                    raise NotOfTheSchema(
                        "The line", f"a frame of {length:,} of {total:,} bytes, kind {flags}"
                    )
                if flags == _BEAT:
                    self._note_come(self._receiver.read(length))
                    self._heard = time.monotonic()
                    continue
                if number not in open_messages:
                    open_messages[number] = bytearray(total), 0
                message, come = open_messages[number]
                if come + length > len(message) or len(open_messages) > _MOST_OPEN:
                    raise NotOfTheSchema(
                        "The line", "a message that is longer than it says, or too many at once"
                    )
                if self._receiver.readinto(memoryview(message)[come : come + length]) != length:
                    break
                self._heard = time.monotonic()
                before = self._received - self._acknowledged
                self._received += len(header) + length
                # Where it waits for its moment already, it is left to sleep.
                if before <= 0 or before < _ACKNOWLEDGE_BYTES <= before + length or before >= _MUCH_BYTES:
                    with self._changed:
                        self._changed.notify()
                open_messages[number] = message, come + length
                if flags in (_LAST, _DROPPED):
                    del open_messages[number]
                if flags == _LAST:
                    self._deliver(memoryview(message)[: come + length])
            self._end("")
        except EngineError as error:
            self._end(f"what came is not understood ({error})")
        except Exception as error:  # noqa: BLE001 - the thread's boundary
            self._end(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        finally:
            with suppress(OSError):
                self._receiver.close()

    def _deliver(self, message: memoryview) -> None:
        if len(message) < _LENGTH.size:
            raise NotOfTheSchema("The line", "a message of no length")
        (length,) = _LENGTH.unpack_from(message)
        if length > schema.MOST_BYTES or length > len(message) - _LENGTH.size:
            raise NotOfTheSchema("The line", f"a message of {length:,} bytes in {len(message):,}")
        view = message[_LENGTH.size :]
        self._on_message(view[:length], view[length:])

    def _note_come(self, body: bytes) -> None:
        if len(body) != _COUNT.size:
            raise NotOfTheSchema("The line", "a heartbeat of no size")
        (come,) = _COUNT.unpack(body)
        with self._changed:
            if not self._come <= come <= self._sent:
                raise NotOfTheSchema("The line", f"{come:,} bytes are said to have come of {self._sent:,}")
            self._come = come
            moment = None
            while self._moments and self._moments[0].bytes <= come:
                moment = self._moments.popleft()
            if moment is not None:
                took_s = max(time.monotonic() - moment.at, 1e-4)
                self._shortest_s = min(self._shortest_s, took_s)
                rate = (come - moment.come) / took_s
                # Where little was under way, that says nothing of what the line could take.
                if come - moment.come >= _ACKNOWLEDGE_BYTES:
                    self._rates.append(rate)
            self._changed.notify()

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._over.wait(_LOOK_S):
            now = time.monotonic()
            if now - before > 2 * _LOOK_S:
                # This program itself got no processor: that says nothing of the other side.
                self._heard += now - before
            before = now
            if now - self._heard >= SILENT_S:
                self._end(f"nothing was heard for {SILENT_S:g} s")


def _write_all(descriptor: int, parts: list[bytes | memoryview]) -> None:
    rest = parts
    while rest:
        # Windows cannot write several at once.
        written = os.writev(descriptor, rest) if hasattr(os, "writev") else os.write(descriptor, rest[0])
        while rest and written >= len(rest[0]):
            written -= len(rest[0])
            rest = rest[1:]
        if rest and written:
            rest = [memoryview(rest[0])[written:], *rest[1:]]


def reader_of(output: IO[bytes]) -> io.BufferedReader:
    """Return the output of a program as what reads it with a buffer, which it is."""
    assert isinstance(output, io.BufferedReader)
    return output


def widen(*descriptors: int) -> None:
    """Give pipes room for more than 64 KB, where the system can: fewer switches between programs."""
    with suppress(ImportError, OSError, AttributeError):
        # Windows has none.
        fcntl = import_module("fcntl")
        for descriptor in descriptors:
            with suppress(OSError):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, 1 << 20)
