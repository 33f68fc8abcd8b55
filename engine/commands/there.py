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
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.commands.arguments import RemoteSettings, Use, Written, written
from engine.commands.output import log, report_interrupt
from engine.errors import EngineError, ImageReadError, LineLost
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import check_other_file, check_place, make_folder
from engine.files.standard_streams import answers, pass_on, printable
from engine.host.shared_array import SharedArray
from engine.interrupts import before_leaving, undivided
from engine.remote.arrays import Array, Arriving, sent_bands
from engine.remote.codecs import Packer
from engine.remote.envelopes import FROM_SERVER
from engine.remote.line import WHOLE, Line, reader_of
from engine.remote.messages import Arrays, Band, Begin, Command, Ended, Output
from engine.remote.messages import Written as WrittenThere
from engine.remote.places import name_there, path_below
from engine.remote.schema import NotOfTheSchema, decoded, encoded
from engine.remote.ssh import VERSION, WAITED_S, RemoteServer

_HERE = "--host", "--host-python"
_MOST_FILE_BYTES = 4 << 30
_MOST_PRINTED_BYTES = 64 << 20
_LOOK_S = 1.0
SILENT_S = 30.0
"""A server that says nothing of its command for so long has forgotten it: it says each 2 s that it runs."""
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
        # Files by their names there, where these are others than here.
        self._renamed: dict[str, str] = {}
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
        """Return what was printed there with the names of files and folders here."""
        folders = {f"{token}/": folder for token, folder in self._names.items()}
        for there, here in (self._renamed | folders).items():
            name = json.dumps(here, allow_nan=False)[1:-1] if self._is_json else printable(here)
            printed = printed.replace(there.encode(), name.encode("utf-8", "surrogateescape"))
        return printed

    def write(self, came: dict[str, bytes]) -> None:
        """Write what came, where the arguments said; raises FileWriteError."""
        with undivided():
            for place, data in came.items():
                if path := self.path_of(place):
                    if place not in self._outputs:
                        make_folder(str(Path(path).parent), with_parents=True)
                    atomic_write(path, data)

    def path_of(self, place: str) -> str:
        """Return where a file that came is written, "" for nowhere.

        Raises NotOfTheSchema: nobody has asked for it.
        """
        if place in self._outputs:
            return self._outputs[place]
        for there, folder in self._output_folders.items():
            if place.startswith(f"{there}/"):
                return str(path_below(folder, place.removeprefix(f"{there}/")))
        if place in self.sent:
            return ""
        raise NotOfTheSchema("A file was refused", f"nobody has asked for {place[:80]!r}")

    def missing(self, came: Collection[str]) -> list[str]:
        """Return the files here that did not come, and the folders of which nothing did."""
        files = [path for place, path in self._outputs.items() if place not in came]
        folders = self._output_folders.items()
        return files + [path for there, path in folders if not any(p.startswith(f"{there}/") for p in came)]

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
        place = f"{token}/{name_there(last)}"
        if place != f"{token}/{last}":
            self._renamed[place] = name
        return place


class _Conversation:
    """One command on a server, from the connection to its end."""

    def __init__(self, server: RemoteServer, arguments: list[str], files: _Files) -> None:
        self._server, self._arguments, self._files = server, arguments, files
        self._over = threading.Event()
        self._status: int | None = None
        self._why = ""
        self._quiet_s = 0.0
        self._printed_bytes = self._came_bytes = 0
        self._came: dict[str, bytes] = {}
        # Files by key: those under way, and those that are whole.
        self._begun: dict[str, Array] = {}
        self._whole: dict[str, Array] = {}
        self._arriving = Arriving(self._make)

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

        def errors() -> str:
            if ssh.poll() is not None:
                listener.join(1.0)
            return b"".join(said).decode("utf-8", "replace")

        refusal = self._server.why_not_greeted(ssh, errors, log)
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
        self._wait()
        if self._status is None:
            why = self._why or errors().strip().rpartition("\n")[2] or "its program there ended"
        elif missing := self._files.missing(self._came) if self._status == 0 else []:
            why = f"it says that it is done, and has sent nothing for {missing[0]}"
        else:
            self._files.write(self._came)
            line.close()
            return self._status
        raise LineLost(
            f"The connection to {self._server.title} was lost", why, "Nothing was written; try again."
        )

    def _wait(self) -> None:
        """Wait until the command has ended, the line has, or nothing was said for long."""
        is_told = False
        # Counted, as a clock goes on while this process is stopped.
        while not self._over.wait(_LOOK_S):
            self._quiet_s += _LOOK_S
            if self._quiet_s >= WAITED_S and not is_told:
                is_told, name = True, self._server.title
                log(f"Waiting for {name}, which says nothing, {SILENT_S:g} s at most. Ctrl+C ends it.")
            if self._quiet_s >= SILENT_S:
                self._end(f"nothing was said of the command for {SILENT_S:g} s")

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
        self._quiet_s = 0.0
        if isinstance(message, Output) and message.stream in (1, 2):
            self._print(message)
        elif isinstance(message, Arrays):
            if message.request != _ONLY:
                raise NotOfTheSchema("The line", "pixels of nothing")
            self._note(message.key, self._arriving.begin(message))
        elif isinstance(message, Band):
            self._note(message.key, self._arriving.take(message, beside))
        elif isinstance(message, WrittenThere):
            if message.key not in self._whole or message.place in self._came:
                raise NotOfTheSchema("A file was refused", "it has not come, or comes twice")
            self._files.path_of(message.place)
            self._came[message.place] = self._whole.pop(message.key).tobytes()
        elif isinstance(message, Ended):
            if not 0 <= message.status <= 255:
                raise NotOfTheSchema("The line", f"an exit status of {message.status}")
            self._status = message.status
            self._over.set()

    def _print(self, message: Output) -> None:
        self._printed_bytes += len(message.data)
        if self._printed_bytes > _MOST_PRINTED_BYTES:
            raise NotOfTheSchema("The line", f"more than {_MOST_PRINTED_BYTES >> 20} MiB are printed")
        stream = answers() if message.stream == 1 else sys.stderr
        if stream is not None:
            # Windows there ends lines with two letters.
            printed = self._files.here(message.data).replace(b"\r\n", b"\n")
            pass_on(printed.decode("utf-8", "backslashreplace"), stream)

    def _make(self, message: Arrays) -> tuple[tuple[SharedArray, ...], list[Array]]:
        (shape, dtype), *more = message.forms or (((), ""),)
        self._came_bytes += int(np.prod(shape, dtype=object))
        if more or dtype != "uint8" or len(shape) != 1 or self._came_bytes > _MOST_FILE_BYTES:
            raise NotOfTheSchema("The line", f"files of {self._came_bytes:,} bytes")
        made = self._begun[message.key] = np.empty(shape, np.uint8)
        return (SharedArray(message.key, made.shape, made.dtype.name),), [made]

    def _note(self, key: str, arrays: tuple[SharedArray, ...] | None) -> None:
        if arrays is not None:
            self._whole[key] = self._begun.pop(key)
