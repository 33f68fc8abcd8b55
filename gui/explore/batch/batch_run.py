"""A batch as a process of its own: the command `batch`, so that files have the bytes of the command line.

The window hears how many files are done, and at the end the command's JSON document. The process ends with
the window, whatever ends that: its standard input closes.
"""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

from engine.commands.own_process import command_process

# How `batch` begins the line of a file that is done.
_DONE = re.compile(r"\[(\d+)/(\d+)\] ")
# A first signal ends the batch after the pictures that are in their filter, a second one at once.
_PATIENCE_MS, _KILL_MS = 500, 900
# Two rates say more than one picture.
_RATE_FROM = 2


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """How a batch ended: its document, or why there is none."""

    document: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    is_stopped: bool = False

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Each picture without a result, and the reason."""
        files: list[dict[str, Any]] = self.document.get("files", [])
        failed = [(one["input"], one.get("failure") or one.get("why", "")) for one in files]
        return [(name, why) for name, why in failed if why]

    @property
    def sentence(self) -> str:
        """What became of it."""
        found = self.document
        if not found:
            return self.why
        left = f", {found['skipped']:,} left out" if found.get("skipped") else ""
        stopped = "Stopped: " if self.is_stopped else ""
        failed = f", {found['failed']:,} failed" if found["failed"] else ""
        seconds = f" in {found['elapsed_s']:.3g} s"
        return f"{stopped}{found['done']:,} of {_pictures(found)} filtered{left}{failed}{seconds}."


def _pictures(found: dict[str, Any]) -> str:
    return f"{found['pictures']:,} picture{'' if found['pictures'] == 1 else 's'}"


class BatchRun(QObject):
    """One batch at a time."""

    progressed = Signal(int, int)  # pictures done, and all that are to do
    ended = Signal(object)  # a BatchEnd

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._said = self._last = ""
        self._begun_s = 0.0
        self.is_stopping = False
        """Whether it was asked to end."""
        self.done = self.total = 0

    @property
    def is_running(self) -> bool:
        """Whether a batch is under way."""
        return self._process is not None

    @property
    def per_second(self) -> float:
        """Pictures per second; 0 while that is not known."""
        elapsed_s = time.monotonic() - self._begun_s
        return self.done / elapsed_s if self.done >= _RATE_FROM and elapsed_s > 0 else 0.0

    def start(self, words: Sequence[str]) -> None:
        """Start the command with the words of its line."""
        program, environment = command_process(["batch", *words, "--json"])
        process = QProcess(self)
        made = QProcessEnvironment()
        for name, value in environment.items():
            made.insert(name, value)
        process.setProcessEnvironment(made)
        process.setProgram(program[0])
        process.setArguments(program[1:])
        process.readyReadStandardError.connect(self._hear)
        process.finished.connect(self._finish)
        process.errorOccurred.connect(self._fail)
        self._said, self._last, self.is_stopping = "", "", False
        self._begun_s = time.monotonic()
        self.done = self.total = 0
        self._process = process
        process.start()

    def stop(self) -> None:
        """End it: files that are written stay, and no file is left half written."""
        process = self._process
        if process is None or self.is_stopping:
            return
        self.is_stopping = True
        process.terminate()
        for wait_ms, end in ((_PATIENCE_MS, process.terminate), (_KILL_MS, process.kill)):
            QTimer.singleShot(wait_ms, process, end)

    def end_now(self) -> None:
        """End it before the window is gone."""
        if self._process is not None:
            self.is_stopping = True
            self._process.terminate()
            self._process.terminate()
            if not self._process.waitForFinished(_KILL_MS):
                self._process.kill()
                self._process.waitForFinished(_KILL_MS)

    def _hear(self) -> None:
        if self._process is None:
            return
        self._said += bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace")
        *lines, self._said = self._said.split("\n")
        for line in lines:
            if found := _DONE.match(line):
                self.done, self.total = int(found[1]), int(found[2])
            elif not line.startswith("note: "):
                self._last = line
        self.progressed.emit(self.done, self.total)

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._end(BatchEnd(why="The batch could not be started: Python cannot be run."))

    def _finish(self, status: int) -> None:
        if self._process is None:
            return
        self._hear()
        answer = bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        try:
            document = json.loads(answer)
        except ValueError:
            document = {}
        why = self._last or f"The batch ended without an answer (status {status})."
        if self.is_stopping:
            why = f"Stopped after {self.done:,} of {self.total:,}." if self.total else "Stopped."
        self._end(BatchEnd(document, why, self.is_stopping))

    def _end(self, end: BatchEnd) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
        self.ended.emit(end)
