"""A command of the command line that runs on a server, for somebody on another machine.

It is run as a program of its own in a folder of its own, with the files that its arguments name. What it
prints goes over the line as it comes; what it has written there, when it has ended.
"""

import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from engine.host import shared
from engine.host.shared_array import SharedArray
from engine.remote.arrays import sent_bands
from engine.remote.codecs import Packer
from engine.remote.line import ANSWERS, WHOLE, Line, Message
from engine.remote.messages import Command, Ended, Output, Running, Written
from engine.remote.places import is_place
from engine.remote.run_command import command_process
from engine.remote.schema import encoded

_MOST_PRINTED = 1 << 20
_STOPPING_S = 2.0
_SAID_EACH_S = 2.0
_NOT_RUN = 1


class CommandRun:
    """A command in a folder below `folder`; `get` returns the bytes of a file that has come, or None."""

    def __init__(
        self,
        asked: Command,
        line: Line,
        packer: Packer,
        get: Callable[[str], SharedArray | None],
        folder: str,
    ) -> None:
        self._asked, self._line, self._packer, self._get = asked, line, packer, get
        self._folder = folder
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_begun = self._is_stopped = False
        self._has_ended = threading.Event()
        threading.Thread(target=self._say_running, name="running", daemon=True).start()

    def missing(self) -> list[str]:
        """Return the digests of the files that have not come."""
        return [key for _, key in self._asked.files if self._get(key) is None]

    def start_when_complete(self) -> None:
        """Start it, once, when all its files are here."""
        with self._lock:
            if self._is_begun or self.missing():
                return
            self._is_begun = True
        threading.Thread(target=self._run, name="command", daemon=True).start()

    def stop(self) -> None:
        """End it: in order, or at once after a moment."""
        self._has_ended.set()
        with self._lock:
            self._is_begun = self._is_stopped = True
            process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOPPING_S)
        except subprocess.TimeoutExpired:
            process.kill()

    def _say_running(self) -> None:
        while not self._has_ended.wait(_SAID_EACH_S):
            self._line.send(encoded(Running(self._asked.id)), ANSWERS)

    def _run(self) -> None:
        try:
            self._run_in_folder()
        except Exception as error:  # noqa: BLE001 - the thread's boundary: somebody waits for the end
            why = f"The command cannot be run on the server: {' '.join(str(error).split())[:300]}\n"
            self._line.send(encoded(Output(self._asked.id, 2, why.encode(errors="replace"))), ANSWERS)
            self._line.send(encoded(Ended(self._asked.id, _NOT_RUN)), ANSWERS)
        finally:
            self._has_ended.set()

    def _run_in_folder(self) -> None:
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            before = {}
            for place, key in self._asked.files:
                path = folder / place
                path.parent.mkdir(parents=True, exist_ok=True)
                found = self._get(key)
                path.write_bytes(b"" if found is None else shared.attach(found).tobytes())
                before[path] = path.stat().st_mtime_ns
            for argument in self._asked.arguments:
                # Where results go: the folders that only they are in.
                *_, value = argument.split("=", 1) if argument.startswith("--") else [argument]
                if is_place(value) and "/" in value:
                    (folder / value).parent.mkdir(parents=True, exist_ok=True)
            status = self._status(folder)
            # The folder stays until its files are sent.
            sent = threading.Event()
            self._line.transfer(self._files(folder, before, status, sent), WHOLE)
            sent.wait()

    def _status(self, folder: Path) -> int:
        command, environment = command_process(self._asked.arguments)
        pipe = subprocess.PIPE
        with self._lock:
            if self._is_stopped:
                return 130
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment
            )
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            threading.Thread(target=self._print, args=(number, pipe, folder), daemon=True)
            for number, pipe in ((1, process.stdout), (2, process.stderr))
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        status = process.wait()
        return status if status >= 0 else 128 - status

    def _print(self, number: int, pipe: BinaryIO, folder: Path) -> None:
        here = f"{folder}/".encode()
        while line := pipe.readline(_MOST_PRINTED):
            self._line.send(encoded(Output(self._asked.id, number, line.replace(here, b""))), ANSWERS)

    def _files(
        self, folder: Path, before: dict[Path, int], status: int, sent: threading.Event
    ) -> Iterator[Message]:
        try:
            for number, path in enumerate(sorted(folder.rglob("*"))):
                place = path.relative_to(folder).as_posix()
                # A part that a killed command has left is hidden, and so no place.
                is_new = path.is_file() and before.get(path) != path.stat().st_mtime_ns
                if not is_new or not is_place(place):
                    continue
                key = f"c{self._asked.id}-{number}"
                data = np.frombuffer(path.read_bytes(), np.uint8)
                yield from sent_bands(key, [data], self._packer, lambda: self._line.rate, self._asked.id)
                yield encoded(Written(self._asked.id, place, key)), b""
            yield encoded(Ended(self._asked.id, status)), b""
        finally:
            sent.set()
