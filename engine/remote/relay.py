"""The process here that stands for one on a server: it starts ssh, and passes requests on and replies back.

For the client it is a host process as any other: pixels lie in shared memory, deadlines and cancellation
hold. What is about files here it does itself: it opens pictures and saves results. Pictures cross once, by
digest. When the line is lost it says why, and ends.
"""

import dataclasses
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from engine.errors import EngineError, LineLost
from engine.files.atomic_write import atomic_write
from engine.host import shared
from engine.host.protocol import (
    CloseTiled,
    CropPicture,
    FilePixels,
    MeasurePicture,
    OpenPicture,
    Saved,
    SaveResult,
    ShowWindow,
    TiledScreen,
    Values,
    WantedTiles,
    WantedValues,
)
from engine.host.request import (
    Answer,
    Cancel,
    HostOptions,
    Lost,
    Ready,
    Release,
    Request,
    SharedArray,
    Stop,
    Superseded,
    ToHost,
    Working,
)
from engine.message import messages_in
from engine.remote import VERSION
from engine.remote.arrays import WAITING, Array, Arriving, Uploads
from engine.remote.line import Line, reader_of
from engine.remote.schema import (
    FROM_SERVER,
    Arrays,
    Band,
    Begin,
    Crossing,
    Needed,
    Notice,
    NotOfTheSchema,
    Written,
    decoded,
    encoded,
    path_below,
)
from engine.results.problem import Progress

_LOCAL = OpenPicture, CropPicture, MeasurePicture, ShowWindow, SaveResult, CloseTiled
# How often a client hears of its requests: below the shortest deadline that it gives one.
_REPORT_S = 0.5
_LEAVING_S = 1.0
_MOST_ERRORS = 4096
_KEPT = "Your work is kept: connect again."


class Reached(Protocol):
    """A server as `engine.remote.ssh` reaches it."""

    @property
    def title(self) -> str:
        """The machine in words."""

    @property
    def command(self) -> list[str]:
        """What is run here."""

    def why_not_greeted(self, ssh: subprocess.Popen[bytes], errors: Callable[[], str]) -> EngineError | None:
        """Wait for the greeting; return why the connection cannot be used, None where it can."""


def serve(server: Reached, connection: Connection, options: HostOptions) -> None:
    """Serve requests by a server until the pipe closes or `Stop` comes. Called on: the main thread."""
    for ending in ("SIGINT", "SIGHUP"):
        if hasattr(signal, ending):
            signal.signal(getattr(signal, ending), signal.SIG_IGN)
    if options.segment_prefix:
        shared.use_prefix(options.segment_prefix)
    Relay(server, connection, options).run()


class _LocalPipe:
    """What the worker for local files takes for its connection to the client."""

    def __init__(self, connection: Connection, sending: threading.Lock) -> None:
        self._connection, self._sending = connection, sending
        self.messages: queue.SimpleQueue[object] = queue.SimpleQueue()
        # By request: the segment with the values of a result, needed until it is saved.
        self.fetched: dict[int, str] = {}

    def recv(self) -> object:
        if (message := self.messages.get()) is None:
            raise EOFError
        return message

    def poll(self) -> bool:
        return not self.messages.empty()

    def send(self, message: object) -> None:
        if isinstance(message, Answer) and (name := self.fetched.pop(message.id, "")):
            shared.recycle(name)
        with self._sending:
            self._connection.send(message)


class Relay:
    """One connection of a client to a server."""

    def __init__(self, server: Reached, connection: Connection, options: HostOptions) -> None:
        self._server, self._connection = server, connection
        self._sending = threading.Lock()
        self._local = _LocalPipe(connection, self._sending)
        self._lock = threading.RLock()
        self._ssh: subprocess.Popen[bytes] | None = None
        self._line = Line(self._take, self._line_ended)
        self._line.send(encoded(Begin(VERSION, server.title, replace(options, segment_prefix=""))))
        self._errors: _Errors | None = None
        self._requests: dict[int, Request] = {}
        # What is said of requests that have no step of their own.
        self._meanwhile = WAITING
        self._uploads = Uploads(self._note_upload)
        self._come: dict[str, tuple[SharedArray, ...]] = {}
        self._arriving = Arriving(self._make, self._come.__setitem__)
        self._inwards = Crossing(self._array_of)
        self._steps: dict[int, Progress] = {}
        # The requests of which a file was written.
        self._written: set[int] = set()
        self._is_over = False
        self._over = threading.Event()

    def run(self) -> None:
        """Connect, and pass on what comes from both sides, until one of them ends."""
        threading.Thread(target=self._connect, name="ssh", daemon=True).start()
        threading.Thread(target=self._read, name="pipe", daemon=True).start()
        # Loads what opens pictures, while ssh connects.
        from engine.host.server import Worker

        Worker(self._local).serve()
        self._leave()

    # The server's side.

    def _connect(self) -> None:
        try:
            ssh = subprocess.Popen(
                self._server.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=1 << 18,
            )
        except OSError as error:
            why = f"ssh cannot be started: {error.strerror or error}"
            self._lose(
                LineLost(f"The server {self._server.title} is not reached", why, "Install OpenSSH's client.")
            )
            return
        self._ssh = ssh
        assert ssh.stdin is not None
        assert ssh.stdout is not None
        self._errors = _Errors(ssh)
        refusal = self._server.why_not_greeted(ssh, self._errors.text)
        if refusal is not None:
            self._lose(refusal)
            return
        self._line.start(reader_of(ssh.stdout), ssh.stdin.fileno())
        threading.Thread(target=self._vouch, name="vouch", daemon=True).start()

    def _line_ended(self, why: str) -> None:
        said = self._errors.text().strip().splitlines() if self._errors else []
        reason = why or (said[-1] if said else "its program there, or ssh, ended")
        self._lose(LineLost(f"The connection to {self._server.title} was lost", reason, _KEPT))

    def _lose(self, error: EngineError) -> None:
        """Say why nothing more comes, and end after the file that is being saved."""
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        with suppress(OSError):
            self._local.send(Lost(error))
        self._local.messages.put(None)

    def _leave(self) -> None:
        """End ssh, and this process: no thread that waits for a dead line keeps it."""
        with self._lock:
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

    def _take(self, structure: memoryview, beside: memoryview) -> None:
        message = decoded(structure, FROM_SERVER, self._inwards)
        if isinstance(message, Band):
            request = self._arriving.request_of(message.key)
            self._arriving.take(message, beside)
            self._report(request, Progress("receiving", 0.9, 2.0))
        elif isinstance(message, Arrays):
            self._arriving.begin(message)
        elif isinstance(message, Working):
            if message.id in self._requests:
                self._steps[message.id] = message.progress
                self._local.send(message)
        elif isinstance(message, Answer):
            self._answered(message)
        elif isinstance(message, Needed):
            self._uploads.send(message.key, self._line)
        elif isinstance(message, Written):
            self._write(message)
        elif isinstance(message, Ready):
            # With the server where they are; results name it themselves.
            there = f" on {self._server.title}"
            devices = tuple(
                dataclasses.replace(device, title=device.title + there) for device in message.devices
            )
            self._local.send(replace(message, devices=devices))
        elif isinstance(message, Notice):
            self._local.send(message.words)

    def _make(self, message: Arrays) -> tuple[tuple[SharedArray, ...], list[Array]] | None:
        if message.request not in self._requests or not message.forms:
            return None
        made = shared.create(*message.forms)
        return made, [shared.attach(array) for array in made]

    def _array_of(self, named: SharedArray) -> SharedArray:
        arrays = self._come.get(named.name, ())
        if named.first_byte >= len(arrays):
            raise NotOfTheSchema("An answer was refused", "its pixels have not come")
        return arrays[named.first_byte]

    def _answered(self, message: Answer) -> None:
        self._come.pop(f"a{message.id}", None)
        dropped = self._arriving.give_up(message.id)
        if dropped:
            shared.recycle(*{array.name for array in dropped})
        with self._lock:
            request = self._requests.pop(message.id, None)
            self._steps.pop(message.id, None)
        if request is None:
            return
        if isinstance(request, SaveResult) and message.error is None:
            self._save(message.id, request, message.value)
            return
        if request.written_path and message.error is None and message.id not in self._written:
            what, why = f"{request.written_path} is not written", f"{self._server.title} has sent no file"
            message = Answer(message.id, error=EngineError(what, why, "Try again."))
        self._written.discard(message.id)
        if isinstance(message.value, Saved):
            message = replace(message, value=replace(message.value, path=request.written_path))
        # A device that is lost there is its host's affair: this process lives.
        self._local.send(replace(message, fatal=False))

    def _write(self, message: Written) -> None:
        """Write a file that a request has made, where the person wants it."""
        request = self._requests.get(message.request)
        arrays = self._come.pop(message.key, None)
        if isinstance(request, SaveResult | None) or arrays is None or not request.written_path:
            raise NotOfTheSchema("A file was refused", "nobody has asked for it")
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
            while True:
                message = self._connection.recv()
                if isinstance(message, Stop):
                    break
                self._pass_on(message)
        self._local.messages.put(Stop())

    def _pass_on(self, message: object) -> None:
        if isinstance(message, ToHost):
            request = message.request
            if isinstance(request, SaveResult) and request.result is not None:
                self._fetch(message.id, request, request.result)
            elif isinstance(request, _LOCAL) or _is_in_file(request):
                self._local.messages.put(message)
            else:
                self._forward(message)
        elif isinstance(message, Release):
            self._uploads.forget(message.names)
            shared.recycle(*message.names)
        elif isinstance(message, Cancel):
            self._local.messages.put(message)
            if message.id in self._requests:
                self._line.send(encoded(message))
        elif isinstance(message, Superseded):
            self._line.send(encoded(message))

    def _forward(self, message: ToHost) -> None:
        with self._lock:
            self._requests[message.id] = message.request
        try:
            structure = self._uploads.encoded(message)
        except EngineError as error:
            self._requests.pop(message.id, None)
            self._local.send(Answer(message.id, error=error))
            return
        self._line.send(structure)

    def _report(self, number: int, progress: Progress) -> None:
        """Note what becomes of a request: the client hears of it with the next report."""
        if number in self._requests:
            self._steps[number] = progress

    def _note_upload(self, progress: Progress) -> None:
        self._meanwhile = progress

    def _vouch(self) -> None:
        """Say of every request that it is worked on: a process that hangs is noticed there, the line here."""
        while not self._over.wait(_REPORT_S):
            with self._lock:
                steps = {number: self._steps.get(number, self._meanwhile) for number in self._requests}
            for number, step in steps.items():
                with suppress(OSError):
                    self._local.send(Working(number, step))

    # What is done here.

    def _fetch(self, number: int, save: SaveResult, screen: TiledScreen) -> None:
        """Ask for all values of a result that stays on the server; when they have come, it is saved here."""
        rows, columns = screen.levels[0]
        wanted = WantedValues(screen, (0, rows), (0, columns))
        with self._lock:
            self._requests[number], self._steps[number] = save, Progress("fetching the values", 0.0, 5.0)
        self._line.send(self._uploads.encoded(ToHost(number, wanted)))

    def _save(self, number: int, save: SaveResult, values: object) -> None:
        if not isinstance(values, Values):
            raise NotOfTheSchema("An answer was refused", "it has no values")
        self._local.fetched[number] = values.values.name
        self._local.messages.put(ToHost(number, replace(save, values=values.values, result=None)))


class _Errors:
    """What ssh says on standard error, its end."""

    def __init__(self, ssh: subprocess.Popen[bytes]) -> None:
        self._ssh, self._said = ssh, b""
        self._thread = threading.Thread(target=self._read, name="ssh-errors", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return it; where ssh has ended, all of it."""
        if self._ssh.poll() is not None:
            self._thread.join(1.0)
        return self._said.decode("utf-8", "replace")

    def _read(self) -> None:
        assert self._ssh.stderr is not None
        while data := os.read(self._ssh.stderr.fileno(), 4096):
            self._said = (self._said + data)[-_MOST_ERRORS:]


def _is_in_file(request: object) -> bool:
    """Return whether a request is about a picture that stays in its file, which is here: so is the work."""
    if isinstance(request, WantedTiles | WantedValues) and request.job is None:
        return not request.screen.is_kept
    return any(isinstance(part, FilePixels) for part in messages_in(request))
