"""The process here that stands for one on a server: it starts ssh, and passes requests on and replies back.

For the client it is a host process as any other: pixels lie in shared memory, deadlines and cancellation
hold. What is about files here it does itself: it opens pictures and saves results. Pictures cross once, by
digest. When the line is lost it says why, and ends.
"""

import dataclasses
import io
import os
import queue
import subprocess
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from engine.errors import EngineError, LineLost, NotOfTheSchema
from engine.files.atomic_write import atomic_write
from engine.host import protocol, shared
from engine.host import request as messages
from engine.host.protocol import SaveResult, WantedValues
from engine.host.request import HostOptions, Preview, Reply, Request, Run, SharedArray, ToHost
from engine.message import messages_in
from engine.remote import VERSION, schema
from engine.remote.arrays import Arriving, Uploads
from engine.remote.beside import Crossing, path_below
from engine.remote.coding import decoded, encoded, reply_of
from engine.remote.line import WHOLE, Line
from engine.results.problem import Progress

_REPORT_S = 0.5  # how often a client hears of its requests: below the shortest deadline that it gives one
_LEAVING_S = 1.0
_MOST_ERRORS = 4096
_KEPT = "Your work is kept: connect again."


class _LocalPipe:
    """What the worker for local files takes for its connection to the client."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._sending = connection, threading.Lock()
        self.messages: queue.SimpleQueue[object] = queue.SimpleQueue()
        # By request: the segment with the values of a result, needed until it is saved.
        self.fetched: dict[int, str] = {}

    def recv(self) -> object:
        if (message := self.messages.get()) is None:
            raise EOFError
        return message

    def poll(self) -> bool:
        return not self.messages.empty()

    def send(self, message: object, /) -> None:
        if isinstance(message, Reply) and (name := self.fetched.pop(message.id, "")):
            shared.recycle(name)
        with self._sending:
            self._connection.send(message)


class Relay:
    """One connection of a client to a server, which is a `RemoteServer`."""

    def __init__(self, server: Any, connection: Connection, options: HostOptions) -> None:
        if options.segment_prefix:
            shared.use_prefix(options.segment_prefix)
        self._server, self._connection = server, connection
        self._local = _LocalPipe(connection)
        self._lock = threading.RLock()
        self._ssh: subprocess.Popen[bytes] | None = None
        # What ssh says on standard error, its end; all of it once the thread has ended.
        self._error_bytes = b""
        self._line = Line(self._take, self._line_ended)
        self._line.send(encoded(schema.Hello(VERSION, server.title, replace(options, segment_prefix=""))))
        self._requests: dict[int, Request] = {}
        self._uploads = Uploads()
        self._come: dict[str, tuple[SharedArray, ...]] = {}
        self._arriving = Arriving(self._make, self._come.__setitem__)
        self._inwards = Crossing(self._array_of)
        self._steps: dict[int, Progress] = {}
        # The requests of which a file was written.
        self._written: set[int] = set()
        self._is_over = False

    def run(self) -> None:
        """Connect, and pass on what comes from both sides, until one ends. Called on: the main thread."""
        threading.Thread(target=self._connect, name="ssh", daemon=True).start()
        threading.Thread(target=self._read, name="pipe", daemon=True).start()
        # Loads what opens pictures, while ssh connects.
        from engine.host.server import Worker

        Worker(self._local).serve()
        # No thread that waits for a dead line keeps this process.
        self._is_over = True
        self._line.close()
        if self._ssh is not None:
            assert self._ssh.stdin is not None
            # Its end is that of the program there; a writer may be in it.
            with suppress(OSError):
                os.close(self._ssh.stdin.fileno())
            try:
                self._ssh.wait(_LEAVING_S)
            except subprocess.TimeoutExpired:
                self._ssh.kill()
                self._ssh.wait()
        os._exit(0)

    # The server's side.

    def _connect(self) -> None:
        try:
            pipe = subprocess.PIPE
            ssh = subprocess.Popen(self._server.command, 1 << 18, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            what, why = f"The server {self._server.title} is not reached", error.strerror or error
            self._lose(LineLost(what, f"ssh cannot be started: {why}", "Install OpenSSH's client."))
            return
        assert ssh.stdin is not None
        self._listening = threading.Thread(target=self._listen, args=(ssh,), name="ssh-errors", daemon=True)
        self._listening.start()
        self._ssh = ssh
        refusal = self._server.why_not_greeted(ssh, self._errors)
        if refusal is not None:
            self._lose(refusal)
            return
        self._line.start(cast("io.BufferedReader", ssh.stdout), ssh.stdin.fileno())
        threading.Thread(target=self._vouch, name="vouch", daemon=True).start()

    def _listen(self, ssh: subprocess.Popen[bytes]) -> None:
        assert ssh.stderr is not None
        while data := os.read(ssh.stderr.fileno(), 4096):
            self._error_bytes = (self._error_bytes + data)[-_MOST_ERRORS:]

    def _errors(self) -> str:
        if self._ssh is not None and self._ssh.poll() is not None:
            self._listening.join(1.0)
        return self._error_bytes.decode("utf-8", "replace")

    def _line_ended(self, why: str) -> None:
        lines = self._errors().strip().splitlines()
        reason = why or (lines[-1] if lines else "its program there, or ssh, ended")
        self._lose(LineLost(f"The connection to {self._server.title} was lost", reason, _KEPT))

    def _lose(self, error: EngineError) -> None:
        """Say why nothing more comes, and end after the file that is being saved."""
        with self._lock:
            was_over, self._is_over = self._is_over, True
        if not was_over:
            with suppress(OSError):
                self._local.send(error)
            self._local.messages.put(None)

    def _take(self, structure: memoryview, beside: memoryview) -> None:
        message = decoded(structure, schema.FROM_SERVER, self._inwards)
        if isinstance(message, schema.ArrayRows):
            request = self._arriving.take(message, beside)
            # The client hears of it with the next report.
            if request in self._requests:
                self._steps[request] = Progress("receiving", 0.9, 2.0)
        elif isinstance(message, schema.Arrays):
            self._arriving.begin(message)
        elif isinstance(message, messages.Working):
            if message.id in self._requests:
                self._steps[message.id] = message.progress
                self._local.send(message)
        elif isinstance(message, Reply):
            self._answered(message)
        elif isinstance(message, schema.Needed):
            self._line.transfer(self._uploads.bands(message.key, self._line), WHOLE)
        elif isinstance(message, schema.Written):
            self._write(message)
        elif isinstance(message, messages.Ready):
            # With the server where they are; results name it themselves.
            there = f" on {self._server.title}"
            named = [dataclasses.replace(device, title=device.title + there) for device in message.devices]
            self._local.send(replace(message, devices=tuple(named)))
        elif isinstance(message, schema.Notice):
            self._local.send(message.words)

    def _make(self, message: schema.Arrays) -> tuple[SharedArray, ...] | None:
        is_wanted = message.request in self._requests and message.forms
        return shared.create(*message.forms) if is_wanted else None

    def _array_of(self, named: SharedArray) -> SharedArray:
        arrays = self._come.get(named.name, ())
        if named.first_byte >= len(arrays):
            raise NotOfTheSchema("An answer was refused", "its pixels have not come")
        return arrays[named.first_byte]

    def _answered(self, message: Reply) -> None:
        with self._lock:
            request = self._requests.pop(message.id, None)
            self._steps.pop(message.id, None)
        if request is not None:
            # Of a result that is saved, the values come.
            wanted = protocol.Values if isinstance(request, SaveResult) else request.reply
            if isinstance(request, Preview | Run):
                wanted = request.job.reply
            message = replace(message, value=reply_of(message, wanted, self._inwards))
        self._come.pop(f"a{message.id}", None)
        shared.recycle(*{array.name for array in self._arriving.give_up(message.id)})
        if request is None:
            return
        if isinstance(message.value, protocol.Values) and isinstance(request, SaveResult):
            values = message.value.values
            self._local.fetched[message.id] = values.name
            self._local.messages.put(ToHost(message.id, replace(request, values=values, result=None)))
            return
        if request.written_path and message.error is None and message.id not in self._written:
            what, why = f"{request.written_path} is not written", f"{self._server.title} has sent no file"
            message = Reply(message.id, error=EngineError(what, why, "Try again."))
        self._written.discard(message.id)
        if isinstance(message.value, protocol.Saved):
            message = replace(message, value=replace(message.value, path=request.written_path))
        # A device that is lost there is its host's affair: this process lives.
        self._local.send(replace(message, fatal=False))

    def _write(self, message: schema.Written) -> None:
        """Write a file that a request has made, where the person wants it."""
        request = self._requests.get(message.request)
        arrays = self._come.pop(message.key, None)
        if isinstance(request, SaveResult | None) or arrays is None or not request.written_path:
            raise NotOfTheSchema("A file was refused", "it was not requested")
        path = Path(request.written_path)
        if message.place:
            path = path_below(request.written_path, message.place)
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            atomic_write(str(path), shared.attach(arrays[0]).tobytes())
            self._written.add(message.request)
        finally:
            shared.recycle(arrays[0].name)

    # The client's side.

    def _read(self) -> None:
        with suppress(EOFError, OSError):
            while not isinstance(message := self._connection.recv(), messages.Stop):
                self._pass_on(message)
        self._local.messages.put(messages.Stop())

    def _pass_on(self, message: object) -> None:
        if isinstance(message, ToHost):
            request = message.request
            if isinstance(request, SaveResult) and request.result is not None:
                # When all values of a result that stays on the server have come, it is saved here.
                rows, columns = request.result.levels[0]
                wanted = WantedValues(request.result, (0, rows), (0, columns))
                self._steps[message.id] = Progress("fetching the values", 0.0, 5.0)
                self._forward(ToHost(message.id, wanted), request)
            elif _is_done_here(request):
                self._local.messages.put(message)
            else:
                self._forward(message, request)
        elif isinstance(message, messages.Release):
            self._uploads.forget(message.names)
            shared.recycle(*message.names)
        elif isinstance(message, messages.Cancel):
            self._local.messages.put(message)
            if message.id in self._requests:
                self._line.send(encoded(message))
        elif isinstance(message, messages.Superseded):
            self._line.send(encoded(message))

    def _forward(self, message: ToHost, request: Request) -> None:
        with self._lock:
            self._requests[message.id] = request
        try:
            structure = encoded(message, self._uploads.crossing)
        except EngineError as error:
            self._requests.pop(message.id, None)
            self._local.send(Reply(message.id, error=error))
        else:
            self._line.send(structure)

    def _vouch(self) -> None:
        """Say of every request that it is worked on: a process that hangs is noticed there, the line here."""
        while True:
            time.sleep(_REPORT_S)
            with self._lock:
                steps = {number: self._steps.get(number, self._uploads.step) for number in self._requests}
            for number, step in steps.items():
                with suppress(OSError):
                    self._local.send(messages.Working(number, step))


def _is_done_here(request: Request) -> bool:
    """Return whether a request is about files here, or a picture that stays in its file: so is the work."""
    if isinstance(request, protocol.WantedTiles | WantedValues) and request.job is None:
        return not request.screen.is_kept
    is_local = request.handler.startswith(f"{protocol.__package__}.")
    return is_local or any(isinstance(part, protocol.FilePixels) for part in messages_in(request))
