"""One line between two programs: messages over two pipes, the urgent first, with heartbeats.

A message is the lengths of its structure (`engine.remote.schema`) and of the pixels beside it, and then both.
Pixels come in messages of 128 KB, so that no large picture holds up an urgent message. Nothing is sent
further ahead than the line takes in a moment: what is dropped then is not on its way already. Both sides say
every 2 s that they are there, and how much has come; from that the rate of the line is measured.
"""

import io
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

from engine.errors import EngineError, NotOfTheSchema
from engine.remote.coding import MOST_BYTES

BEAT_S = 2.0
SILENT_S = 8.0  # a line on which nothing was heard for so long is lost

URGENT, ANSWERS, PIXELS, WHOLE = range(4)
"""What goes first: events and requests; answers; pixels that are looked at; whole pictures and values."""

MOST_BESIDE = 4 << 20
_PIECE_BYTES = 1 << 16
_LOOK_S = 0.25
_HEADER = struct.Struct("!II")  # bytes of the structure, none for a heartbeat, and of what lies beside it
_COUNT = struct.Struct("!Q")  # of a heartbeat: how many bytes of messages have come
# What has come is acknowledged at once after so many bytes, a moment later after fewer: it wakes both sides.
_ACKNOWLEDGE_BYTES = 1 << 16
_MUCH_BYTES, _SOON_S, _LATER_S = 1 << 20, 0.004, 0.02
_FIRST_RATE = 12.5e6  # before a rate is known: 100 Mbit/s
# What may be on its way at least and at most, and the part of a second that it may take.
_LEAST_AHEAD, _FIRST_AHEAD, _MOST_AHEAD, _AHEAD_S = 32 << 10, 256 << 10, 32 << 20, 0.04

Message = tuple[bytes, "bytes | memoryview"]  # the structure of a message, and what lies beside it


@dataclass(eq=False, slots=True)
class Transfer:
    """Messages that are sent one after the other, made as the line takes them; dropped on request."""

    messages: Iterator[Message]
    is_dropped: bool = False


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
        self._received = self._acknowledged = 0
        self._acknowledged_at = 0.0
        self._sent = self._come = 0
        # Of sending: bytes sent until then, bytes known to have come, and when.
        self._moments: deque[tuple[int, int, float]] = deque()
        self._rates: deque[float] = deque(maxlen=32)
        self._shortest_s = 1.0
        self._heard = self._spoken = time.monotonic()
        self._over = threading.Event()

    def start(self, receiver: io.BufferedReader, sender: int) -> None:
        """Send and receive from now on."""
        self._receiver, self._sender = receiver, sender
        # Pipes get room for more than 64 KB where the system can: fewer switches between programs.
        for pipe in (receiver, sender):
            # Windows has no such module.
            with suppress(ImportError, OSError, AttributeError):
                fcntl = import_module("fcntl")
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
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
        transfer = Transfer(iter(messages))
        with self._changed:
            self._queues[priority].append(transfer)
            self._changed.notify()
        return transfer

    def close(self) -> None:
        """Send nothing any more; the other side sees the end."""
        self._end("")

    def _end(self, why: str) -> None:
        with self._changed:
            if self._over.is_set():
                return
            self._over.set()
            self._changed.notify()
        self._on_end(why)

    def _next(self) -> deque[Transfer] | None:
        """Wait for something to send; return whose first it is, None for a heartbeat. Under the lock."""
        while not self._over.is_set():
            now, rate, left = time.monotonic(), self.rate, self._received - self._acknowledged
            moment = 0.0 if left >= _MUCH_BYTES else _SOON_S if left >= _ACKNOWLEDGE_BYTES else _LATER_S
            # When how much has come must be acknowledged, at the latest with the next heartbeat.
            due = min(self._spoken + BEAT_S, self._acknowledged_at + moment if left else now + BEAT_S) - now
            # As much may be on its way as keeps the line busy.
            ahead: float = _FIRST_AHEAD
            if self._rates:
                ahead = min(max(1.5 * rate * self._shortest_s, rate * _AHEAD_S, _LEAST_AHEAD), _MOST_AHEAD)
            may_send = self._queues if self._sent - self._come < ahead else self._queues[:1]
            if left and due <= 0:
                return None
            if (queue := next(filter(None, may_send), None)) is not None or due <= 0:
                return queue
            self._changed.wait(due)
        return None

    def _write(self) -> None:
        try:
            while True:
                with self._changed:
                    queue = self._next()
                    if self._over.is_set():
                        return
                    if queue is None:
                        self._acknowledged, self._acknowledged_at = self._received, time.monotonic()
                if queue is None:
                    parts: Message = _HEADER.pack(0, _COUNT.size) + _COUNT.pack(self._acknowledged), b""
                else:
                    if queue[0].is_dropped:
                        # What they hold is given back.
                        queue[0].messages = iter(())
                    if (message := next(queue[0].messages, None)) is None:
                        with self._changed:
                            queue.popleft()
                        continue
                    # Pixels are not copied to stand behind the rest.
                    parts = _HEADER.pack(*map(len, message)) + message[0], message[1]
                    self._sent += sum(map(len, parts))
                    now = time.monotonic()
                    if not self._moments or now - self._moments[-1][2] > 1e-3:
                        self._moments.append((self._sent, self._come, now))
                self._spoken = time.monotonic()
                for part in parts:
                    rest = memoryview(part)
                    while rest:
                        rest = rest[os.write(self._sender, rest) :]
        except OSError as error:
            self._end("" if isinstance(error, BrokenPipeError) else str(error))
        except Exception as error:  # noqa: BLE001 - the thread's boundary
            self._end(f"{type(error).__name__}: {error}")

    def _read(self) -> None:
        try:
            while (header := self._read_exactly(_HEADER.size)) is not None:
                length, beside = _HEADER.unpack(header)
                is_beat = not length
                if length > MOST_BYTES or beside > (_COUNT.size if is_beat else MOST_BESIDE):
                    raise NotOfTheSchema("The line", f"a message of {length:,} bytes, {beside:,} beside it")
                if (data := self._read_exactly(length + beside)) is None:
                    break
                if is_beat:
                    self._note_come(data)
                else:
                    before, size = self._received - self._acknowledged, len(header) + len(data)
                    self._received += size
                    # Where it waits for its moment already, it is left to sleep.
                    if before <= 0 or before < _ACKNOWLEDGE_BYTES <= before + size or before >= _MUCH_BYTES:
                        with self._changed:
                            self._changed.notify()
                    self._on_message(data[:length], data[length:])
            self._end("")
        except EngineError as error:
            self._end(f"what came is not understood ({error})")
        except Exception as error:  # noqa: BLE001 - the thread's boundary
            self._end(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        finally:
            with suppress(OSError):
                self._receiver.close()

    def _read_exactly(self, count: int) -> memoryview | None:
        """Read so many bytes; None where the other side ends before."""
        data, come = memoryview(bytearray(count)), 0
        while come < count:
            # Of a long message it is noted that it is coming.
            got = self._receiver.readinto(data[come : come + _PIECE_BYTES])
            if not got:
                return None
            come += got
            self._heard = time.monotonic()
        return data

    def _note_come(self, body: memoryview) -> None:
        if len(body) != _COUNT.size:
            raise NotOfTheSchema("The line", "a heartbeat of no size")
        (come,) = _COUNT.unpack(body)
        with self._changed:
            if not self._come <= come <= self._sent:
                raise NotOfTheSchema("The line", f"{come:,} bytes are said to have come of {self._sent:,}")
            self._come = come
            moment = None
            while self._moments and self._moments[0][0] <= come:
                moment = self._moments.popleft()
            if moment is not None:
                _, come_before, at = moment
                took_s = max(time.monotonic() - at, 1e-4)
                self._shortest_s = min(self._shortest_s, took_s)
                # Where little was under way, that says nothing of what the line could take.
                if come - come_before >= _ACKNOWLEDGE_BYTES:
                    self._rates.append((come - come_before) / took_s)
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
