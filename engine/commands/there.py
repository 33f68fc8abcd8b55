"""A command on another machine (`--host`): the same command runs there, with the files that it names.

Its arguments are read here first. On the server each file has its own name in a folder that stands for its
folder here; in what is printed the folders are named as they are here. Files that it writes are written here
when it has ended, each whole.
"""

import hashlib
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from engine.commands.arguments import RemoteSettings, Use, Written, written
from engine.commands.output import report_interrupt
from engine.errors import EngineError, ImageReadError, LineLost
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import check_other_file, check_place, make_folder
from engine.host.shared_array import SharedArray
from engine.interrupts import before_leaving, undivided
from engine.remote.arrays import Array, Arriving, sent_bands
from engine.remote.codecs import Packer
from engine.remote.envelopes import FROM_SERVER
from engine.remote.line import WHOLE, Line, reader_of
from engine.remote.messages import Arrays, Band, Begin, Command, Ended, Output
from engine.remote.messages import Written as WrittenThere
from engine.remote.schema import NotOfTheSchema, decoded, encoded
from engine.remote.ssh import VERSION, RemoteServer

_HERE = "--host", "--host-python"
_MOST_FILE_BYTES = 4 << 30
_ONLY = 1


def run(command: str, kind: type[RemoteSettings], arguments: Sequence[str], settings: RemoteSettings) -> int:
    """Run a command on the server that its settings name; return its exit status there."""
    assert settings.host is not None
    # On a terminal ssh may ask for what it needs.
    server = RemoteServer(
        settings.host, settings.host_python, may_ask=sys.stdin is not None and sys.stdin.isatty()
    )
    given = [one for one in written(command, kind, arguments) if one.name not in _HERE]
    files = _Files(given, is_json=settings.json, may_overwrite=bool(getattr(settings, "overwrite", False)))
    with report_interrupt(files.outputs):
        return _Conversation(server, [command, *files.arguments], files).status()


class _Files:
    """The files that arguments name: what they are called there, which are sent, which may come back."""

    def __init__(self, given: Sequence[Written], *, is_json: bool, may_overwrite: bool) -> None:
        self._is_json, self._folders, self._names = is_json, dict[str, str](), dict[str, str]()
        # By their names there.
        self.sent: dict[str, bytes] = {}
        self._outputs: dict[str, str] = {}
        self._output_folders: dict[str, str] = {}
        self.outputs: list[str] = []
        reads = [self._read(one) for one in given if one.use in (Use.READ, Use.MAY_READ)]
        for one in given:
            if one.use in (Use.WRITE, Use.WRITE_FOLDER):
                self._check(one, [path for paths in reads for path in paths], may_overwrite)
        options = [self._argument(one) for one in given if one.name]
        operands = [self._there(one) for one in given if not one.name]
        self.arguments = [*options, "--", *operands] if operands else options

    def here(self, printed: bytes) -> bytes:
        """Return what was printed there with the names of folders here."""
        for token, folder in self._names.items():
            name = json.dumps(folder, allow_nan=False)[1:-1] if self._is_json else folder
            printed = printed.replace(f"{token}/".encode(), name.encode("utf-8", "surrogateescape"))
        return printed

    def write(self, came: dict[str, bytes]) -> None:
        """Write what came, where the arguments said; raises FileWriteError."""
        with undivided():
            for place, data in came.items():
                token, _, name = place.partition("/")
                within = next((f for f in self._output_folders if place.startswith(f"{f}/")), None)
                if place in self._outputs:
                    atomic_write(self._outputs[place], data)
                elif within is not None:
                    path = Path(self._output_folders[within], *place.removeprefix(f"{within}/").split("/"))
                    make_folder(self._output_folders[within])
                    make_folder(str(path.parent), with_parents=True)
                    atomic_write(str(path), data)
                elif place not in self.sent:
                    raise NotOfTheSchema(
                        "A file was refused", f"nobody has asked for {token[:20]}/{name[:60]}"
                    )

    def _read(self, one: Written) -> list[str]:
        """Read the files that an argument names; return their paths. The command says what is not there."""
        names = [one.text, *one.text.split(",")] if one.use is Use.MAY_READ else [one.text]
        found = [name for name in dict.fromkeys(names) if name and os.path.isfile(name)]
        for name in found:
            try:
                if os.path.getsize(name) > _MOST_FILE_BYTES:
                    why = f"it has more than {_MOST_FILE_BYTES >> 30} GiB"
                    raise EngineError(f"{name} is not sent", why, "Copy it to the server, and work there.")
                self.sent[self._place(name)] = Path(name).read_bytes()
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                raise ImageReadError(f"{name} cannot be opened", why, "Check its permissions.") from error
        return found

    def _check(self, one: Written, sources: Sequence[str], may_overwrite: bool) -> None:
        if one.use is Use.WRITE_FOLDER:
            make_folder(one.text)
            self._output_folders[self._place(one.text)] = one.text
            return
        check_place(one.text)
        for source in () if may_overwrite else sources:
            check_other_file(one.text, source, what="file")
        self._outputs[self._place(one.text)] = one.text
        self.outputs.append(one.text)

    def _argument(self, one: Written) -> str:
        text = self._there(one)
        return f"{one.name}={text}" if one.text or one.use else one.name

    def _there(self, one: Written) -> str:
        if one.use is None or not one.text:
            return one.text
        if one.use is not Use.MAY_READ:
            return self._place(one.text)
        if os.path.isfile(one.text):
            return self._place(one.text)
        return ",".join(self._place(n) if n and os.path.isfile(n) else n for n in one.text.split(","))

    def _place(self, name: str) -> str:
        """Return what a file is called there: in a folder that stands for its folder here."""
        folder, last = os.path.split(name.rstrip("/") or name)
        token = self._folders.setdefault(os.path.realpath(folder or "."), secrets.token_hex(6))
        self._names.setdefault(token, f"{folder.rstrip('/')}/" if folder else "")
        return f"{token}/{last}"


class _Conversation:
    """One command on a server, from the connection to its end."""

    def __init__(self, server: RemoteServer, arguments: list[str], files: _Files) -> None:
        self._server, self._arguments, self._files = server, arguments, files
        self._over = threading.Event()
        self._status: int | None = None
        self._why = ""
        self._came: dict[str, bytes] = {}
        self._arrays: dict[str, tuple[SharedArray, ...]] = {}
        self._arriving = Arriving(self._make)
        self._buffers: dict[str, Array] = {}

    def status(self) -> int:
        """Return the command's exit status; raises LineLost."""
        try:
            ssh = subprocess.Popen(
                self._server.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            why = f"ssh cannot be started: {error.strerror or error}"
            raise LineLost(
                f"{self._server.title} is not reached", why, "Install OpenSSH's client."
            ) from error
        before_leaving(ssh.kill)
        try:
            return self._talk(ssh)
        finally:
            ssh.kill()
            ssh.wait()

    def _talk(self, ssh: "subprocess.Popen[bytes]") -> int:
        assert ssh.stdin is not None
        assert ssh.stdout is not None
        said: list[bytes] = []
        listener = threading.Thread(target=self._hear, args=(ssh, said), daemon=True)
        listener.start()
        greeting = self._server.greeting(ssh.stdout)
        if not greeting:
            with suppress(subprocess.TimeoutExpired):
                ssh.wait(5.0)
            listener.join(1.0)
        refusal = self._server.refusal(greeting, ssh.poll(), b"".join(said).decode("utf-8", "replace"))
        if refusal is not None:
            raise refusal
        line, packer = Line(reader_of(ssh.stdout), ssh.stdin.fileno(), self._take, self._end), Packer()
        line.start()
        line.send(encoded(Begin(VERSION, self._server.title)))
        keys = {
            place: hashlib.blake2b(data, digest_size=16).hexdigest()
            for place, data in self._files.sent.items()
        }
        for place, key in keys.items():
            data = np.frombuffer(self._files.sent[place], np.uint8)
            line.transfer(sent_bands(key, [data], packer, lambda: line.rate), WHOLE)
        line.send(encoded(Command(_ONLY, tuple(self._arguments), tuple(keys.items()))))
        self._over.wait()
        if self._status is None:
            why = (
                self._why
                or b"".join(said[-1:]).decode("utf-8", "replace").strip()
                or "its program there ended"
            )
            raise LineLost(
                f"The connection to {self._server.title} was lost", why, "Nothing was written; try again."
            )
        self._files.write(self._came)
        line.close()
        return self._status

    def _hear(self, ssh: "subprocess.Popen[bytes]", said: list[bytes]) -> None:
        assert ssh.stderr is not None
        while data := ssh.stderr.readline():
            said.append(data)
            del said[:-20]

    def _end(self, why: str) -> None:
        self._why = why
        self._over.set()

    def _take(self, structure: memoryview, beside: memoryview) -> None:
        message: Any = decoded(structure, FROM_SERVER)
        if isinstance(message, Output) and message.stream in (1, 2):
            stream = sys.stdout if message.stream == 1 else sys.stderr
            text = self._files.here(message.data).decode("utf-8", "backslashreplace")
            if stream is not None:
                stream.write(text)
                stream.flush()
        elif isinstance(message, Arrays):
            if message.request != _ONLY:
                raise NotOfTheSchema("The line", "pixels of nothing")
            self._note(message.key, self._arriving.begin(message))
        elif isinstance(message, Band):
            self._note(message.key, self._arriving.take(message, beside))
        elif isinstance(message, WrittenThere):
            if message.key not in self._arrays:
                raise NotOfTheSchema("The line", "a file that has not come")
            self._came[message.place] = self._buffers.pop(message.key).tobytes()
        elif isinstance(message, Ended):
            self._status = min(max(message.status, 0), 255)
            self._over.set()

    def _make(self, message: Arrays) -> tuple[tuple[SharedArray, ...], list[Array]]:
        size = sum(int(np.prod(shape)) for shape, _ in message.forms)
        if size > _MOST_FILE_BYTES or len(message.forms) != 1:
            raise NotOfTheSchema("The line", f"a file of {size:,} bytes")
        made = np.empty(message.forms[0][0], message.forms[0][1])
        self._buffers[message.key] = made
        return (SharedArray(message.key, made.shape, made.dtype.name),), [made]

    def _note(self, key: str, arrays: tuple[SharedArray, ...] | None) -> None:
        if arrays is not None:
            self._arrays[key] = arrays
