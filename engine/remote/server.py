"""The program on the server's side of a line: an ordinary client of an ordinary host process, over two pipes.

ssh starts it; it listens nowhere, and ends with its standard input. What its host process does, and what
becomes of that where it ends, is as on any machine. Results stay here: what is requested of them is sent.
"""

import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from engine.device.device_list import SERVER_VARIABLE
from engine.errors import Cancelled, EngineError, NotOfTheSchema, ResultGone
from engine.files.atomic_write import HeldFolder, remove_dead_folders
from engine.files.standard_streams import log, set_output_aside
from engine.host import request as messages
from engine.host import shared
from engine.host.client import EngineClient
from engine.host.protocol import WantedTiles, WantedValues
from engine.host.request import Preview, Reply, Request, SharedArray, ToHost, segments_of
from engine.process import KeptValues
from engine.remote import VERSION, schema
from engine.remote.arrays import PATIENCE_S, Array, Arriving, KeptArrays, sending_s, sent_bands
from engine.remote.beside import Crossing, is_place
from engine.remote.coding import decoded, encoded
from engine.remote.line import ANSWERS, PIXELS, WHOLE, Line, Message, Transfer
from engine.remote.schema import Notice
from engine.results.problem import Progress

MOST_KEPT_BYTES = 4 << 30
_LEAVING_S = 4.0
_MOST_WAITING = 1000
_FOLDERS = "haloscope-server-"


@dataclass(eq=False)
class _Unanswered:
    """A request that is not answered yet."""

    structure: bytes
    request: Request | None = None
    keys: tuple[str, ...] = ()  # of the pixels in it
    future: Future[Any] | None = None
    transfer: Transfer | None = None
    ends_at: float = 0.0  # when its transfer will probably have ended
    folder: tempfile.TemporaryDirectory[str] | None = None  # what it writes


class Server:
    """Answers what comes over a line; `ended` is set when that is over."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.why = ""
        self._line = Line(self._take, self._end)
        self._begun = False
        self._client = EngineClient(on_ready=self._send, on_notice=lambda notice: self._send(Notice(notice)))
        self._lock = threading.RLock()
        self._unanswered: dict[int, _Unanswered] = {}
        # For files that come and go.
        self._held = HeldFolder(_FOLDERS, shared.own_prefix(), self._client.segment_prefix)
        most = min(MOST_KEPT_BYTES, int(min(shared._free_bytes(), 1 << 40)) // 4)
        self._pictures: KeptValues[str, SharedArray] = KeptValues(most, _MOST_WAITING)
        self._results = KeptArrays(most)
        self._arriving = Arriving(self._make, self._note_come)
        # Of the message that is being read: the pixels that it names, and those that are not here.
        self._named: list[str] = []
        self._missing: list[str] = []
        # Of those, what was requested and has not come.
        self._needed: set[str] = set()
        self._crossing = Crossing(self._picture, self._file)

    def start(self, receiver: io.BufferedReader, sender: int) -> None:
        """Answer from now on; remove what killed servers of this user have left."""
        self._line.start(receiver, sender)
        remove_dead_folders(_FOLDERS, shared.unlink_left)

    def close(self) -> None:
        """End all that was begun here."""
        self._client.shutdown()
        self._held.remove()

    def _end(self, why: str) -> None:
        self.why = why
        self.ended.set()

    def _send(self, message: schema.FROM_SERVER) -> None:
        self._line.send(encoded(message))

    def _take(self, structure: memoryview, beside: memoryview) -> None:
        message = self._decoded(structure, schema.TO_SERVER)
        if isinstance(message, schema.ArrayRows):
            self._arriving.take(message, beside)
        elif isinstance(message, schema.Arrays):
            self._arriving.begin(message)
        elif isinstance(message, schema.Hello):
            if message.version != VERSION or self._begun:
                raise NotOfTheSchema("The line", f"version {message.version[:40]} there, {VERSION} here")
            self._begun = True
            os.environ[SERVER_VARIABLE] = " ".join(message.title.split())[:200]
            self._client.described = message.options.described
            self._client.start()
        elif not self._begun:
            raise NotOfTheSchema("The line", "a message before the first one")
        elif isinstance(message, ToHost):
            self._ask(message, bytes(structure))
        elif (pending := self._unanswered.get(message.id)) is not None:
            if isinstance(message, messages.Cancel):
                if pending.transfer is None and pending.future is not None:
                    self._client.cancel(pending.future)
                    return
                error = Cancelled("The request", "it was stopped")
            elif pending.transfer is not None and pending.ends_at - time.monotonic() >= PATIENCE_S:
                error = Cancelled("The preview", "a newer one has replaced it")
            else:
                return
            if pending.transfer is not None:
                pending.transfer.is_dropped = True
            self._finish(message.id, error)

    def _decoded(self, structure: bytes | memoryview, kind: object) -> Any:
        self._named, self._missing = [], []
        return decoded(structure, kind, self._crossing)

    # Pixels and files that come.

    def _make(self, message: schema.Arrays) -> tuple[SharedArray, ...] | None:
        is_wanted = self._pictures.get(message.key) is None and len(message.forms) == 1
        return shared.create(*message.forms) if is_wanted else None

    def _note_come(self, key: str, arrays: tuple[SharedArray, ...]) -> None:
        self._needed.discard(key)
        size = shared.attach(arrays[0]).nbytes
        for gone in self._pictures.add(key, arrays[0], size, self._in_use()):
            self._client.detach(gone.name)
            shared.unlink(gone.name)
        with self._lock:
            waiting = [(n, pending) for n, pending in self._unanswered.items() if pending.request is None]
        for number, pending in waiting:
            message = self._decoded(pending.structure, ToHost)
            if not self._missing:
                self._submit(number, pending, message.request)

    def _in_use(self) -> frozenset[str]:
        """Return the keys of what requests are computed from, and of results that are being sent."""
        with self._lock:
            return frozenset(key for pending in self._unanswered.values() for key in pending.keys)

    def _picture(self, named: SharedArray) -> SharedArray:
        array = self._pictures.get(named.name)
        (self._missing if array is None else self._named).append(named.name)
        return array or SharedArray(named.name, (1, 1, 1), "uint8")

    def _file(self, name: str) -> str:
        """Return the path of a file that has come: its digest, and the name that it had."""
        key, _, last = name.partition("/")
        if not is_place(name) or not key.isalnum() or not last or "/" in last:
            raise NotOfTheSchema("A message was refused", "a file of no such name")
        path = Path(self._held.path, key, last)
        if not path.exists():
            if (array := self._pictures.get(key)) is None:
                self._missing.append(key)
            else:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(shared.attach(array).tobytes())
        return str(path)

    # Requests.

    def _ask(self, message: ToHost, structure: bytes) -> None:
        with self._lock:
            if len(self._unanswered) >= _MOST_WAITING or message.id in self._unanswered:
                raise NotOfTheSchema("The line", "too many requests, or one twice")
            pending = self._unanswered[message.id] = _Unanswered(structure)
        for key in {*self._missing} - self._needed:
            self._needed.add(key)
            self._send(schema.Needed(key))
        if not self._missing:
            self._submit(message.id, pending, message.request)

    def _submit(self, number: int, pending: _Unanswered, request: Request) -> None:
        pending.request, pending.keys = request, tuple(self._named)
        if isinstance(request, WantedTiles | WantedValues):
            # Of a result that stays here.
            pending.keys += (request.screen.key,)
            try:
                value, views = self._results.answer(request)
            except ResultGone as error:
                self._finish(number, error)
            else:
                self._send_answer(number, pending, Reply(number, value), views)
            return
        if request.written_path:
            pending.folder = tempfile.TemporaryDirectory(prefix="haloscope-", dir=self._held.path)
            path = str(Path(pending.folder.name, Path(request.written_path).name or "written"))
            request = replace(request, **{request.path_field: path})  # type: ignore[type-var]

        def report(progress: Progress) -> None:
            self._send(messages.Working(number, progress))

        pending.future = self._client.submit(request, report)
        pending.future.add_done_callback(partial(self._done, number, pending))

    def _done(self, number: int, pending: _Unanswered, future: Future[Any]) -> None:
        value, error = None, None
        try:
            value = future.result()
        except EngineError as raised:
            error = raised
        except CancelledError:
            error = Cancelled("The preview", "a newer one has replaced it")
        names, views = segments_of(value), dict[str, Array]()
        if number not in self._unanswered:
            self._client.release(*names)
            return
        try:
            if (seen := getattr(pending.request, "seen", None)) is not None:
                # Where only a part of it is seen, its pixels are kept here, and those are sent.
                kept = self._results.keep(value, seen, self._in_use(), self._line.rate)
                if kept is not None:
                    value, key, views, gone = kept
                    pending.keys += (key,)
                    self._client.release(*segments_of(gone))
                    names = ()
            self._send_answer(number, pending, Reply(number, value, error), views, names)
        except Exception as raised:  # noqa: BLE001 - the thread's boundary: every error becomes an answer
            why = f"{type(raised).__name__}: {' '.join(str(raised).split())[:300]}"
            self._finish(number, EngineError("The answer cannot be sent", why, "Please report this line."))

    def _finish(self, number: int, error: EngineError) -> None:
        with self._lock:
            pending = self._unanswered.pop(number, None)
        if pending is not None:
            self._line.send(encoded(Reply(number, error=error)), ANSWERS)

    def _send_answer(
        self,
        number: int,
        pending: _Unanswered,
        answer: Reply,
        views: dict[str, Array],
        names: tuple[str, ...] = (),
    ) -> None:
        """Send an answer: its pixels first, as the line takes them, then the rest."""
        arrays: list[Array] = []

        def out(array: SharedArray) -> SharedArray:
            arrays.append(views[array.name] if array.name in views else shared.attach(array))
            return SharedArray(f"a{number}", (), "", len(arrays) - 1)

        structure = encoded(answer, Crossing(out))
        nbytes = sum(array.nbytes for array in arrays)
        pending.ends_at = time.monotonic() + sending_s(nbytes, self._line.rate)
        is_looked_at = isinstance(pending.request, Preview | WantedTiles)
        priority = PIXELS if is_looked_at else WHOLE if arrays else ANSWERS
        messages = self._messages(number, pending, structure, arrays, names)
        pending.transfer = self._line.transfer(messages, priority)

    def _messages(
        self, number: int, pending: _Unanswered, structure: bytes, arrays: list[Array], names: tuple[str, ...]
    ) -> Iterator[Message]:
        """Yield the pixels of an answer, the files that its request has written, and the rest."""
        bands = partial(sent_bands, rate=lambda: self._line.rate, request=number)
        try:
            if arrays:
                yield from bands(f"a{number}", arrays)
        finally:
            self._client.release(*names)
        if pending.folder is not None:
            with pending.folder as folder:
                files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
                for place, path in enumerate(files):
                    key, within = f"w{number}-{place}", path.relative_to(folder).as_posix().partition("/")[2]
                    yield from bands(key, [np.fromfile(path, np.uint8)])
                    yield encoded(schema.Written(number, within, key)), b""
        with self._lock:
            self._unanswered.pop(number, None)
        yield structure, b""


def main() -> None:
    """Greet on standard output, and answer until standard input ends."""
    # What libraries print must not come into the line, and no child may read from it.
    sender, receiver = set_output_aside(), cast("io.BufferedReader", os.fdopen(os.dup(0), "rb", 1 << 18))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    greeting = {"version": VERSION, "schema": schema.DIGEST, "python": sys.version.split()[0]}
    os.write(sender, b"HALOSCOPE " + json.dumps(greeting, allow_nan=False).encode() + b"\n")
    server = Server()
    for name in ("SIGINT", "SIGHUP", "SIGTERM"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: server.ended.set())
    server.start(receiver, sender)
    server.ended.wait()
    # A host that hangs in a driver ends with the memory that it has.
    timer = threading.Timer(_LEAVING_S, os._exit, (1,))
    timer.daemon = True
    timer.start()
    if server.why:
        log(f"haloscope: {server.why}")
    server.close()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)
