"""A batch goes on where a decoder ends its process: the file is named, and the others are filtered.

`batch` runs in a process of its own, forked before anything is loaded, which says what it opens and what is
done. Where a signal ends it, another one tries each file that was under way alone, and a third one does the
rest. Without `fork` (Windows) a batch is not watched.
"""

import _thread
import atexit
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import IO, Any, NoReturn

from engine.errors import ImageReadError
from engine.image.faults import SAVE_AGAIN

_STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class _Watched:
    """What the processes of a batch have reported; in each, all that was reported before it began.

    Plan and outcomes stay as they were sent until a process asks for them: the one that waits would load all
    that they are made of, in 0.1 s.
    """

    def __init__(self) -> None:
        self.begin: float | None = None  # None: this batch is not watched
        self._plan = b""
        self._outcomes: list[bytes] = []
        self.deadly: dict[str, str] = {}
        self.alone: set[str] = set()
        self._begun: dict[str, None] = {}  # and not done, the last one last
        self._lock = threading.Lock()
        self._to_parent: IO[bytes] | None = None

    @cached_property
    def plan(self) -> tuple[Sequence[Any], Sequence[Any]] | None:
        """The files that are to be done, and those that are skipped; None before they are known."""
        files: tuple[Sequence[Any], Sequence[Any]] | None = pickle.loads(self._plan) if self._plan else None
        return files

    @cached_property
    def outcomes(self) -> list[Any]:
        """What came of the files that are done."""
        return list(map(pickle.loads, self._outcomes))

    def say_begun(self, path: str) -> None:
        """Say that a file is opened next; refuse one that has ended a process. Called on: any thread."""
        if path in self.deadly:
            why = f"opening it, or filtering it, ended the process ({self.deadly[path]}): it is damaged"
            raise ImageReadError(f"{path} cannot be opened", why, SAVE_AGAIN)
        self.say("begun", path)

    def say(self, kind: str, source: str = "", content: object = None) -> None:
        """Tell the process that waits: a plan, or that a file is begun or done. Called on: any thread."""
        if self._to_parent is not None:
            data = pickle.dumps((kind, source, pickle.dumps(content)))
            with self._lock:
                self._to_parent.write(data)
                self._to_parent.flush()

    def status_of(self, work: Callable[[], int]) -> int:
        """Have processes do the work, and end with their exit status; nothing may have threads yet."""
        self.begin = time.perf_counter()
        while hasattr(os, "fork"):
            reader, writer = os.pipe()
            # The end of the process that waits closes it.
            lifeline, held = os.pipe()
            child = os.fork()
            if not child:
                os.close(reader)
                os.close(held)
                os.setpgid(0, 0)
                _thread.start_new_thread(_end_with_parent, (lifeline,))
                self._to_parent = os.fdopen(writer, "wb")
                _end(work())
            os.close(writer)
            os.close(lifeline)
            _pass_signals_on(child)
            # The last one may be cut off.
            with open(reader, "rb") as reports, suppress(EOFError, pickle.UnpicklingError):
                while True:
                    kind, source, content = pickle.load(reports)
                    self._begun.pop(source, None)
                    if kind == "plan":
                        self._plan = content
                    elif kind == "done":
                        self._outcomes.append(content)
                    else:
                        self._begun[source] = None
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.close(held)
            if status >= 0:
                if not self.alone:
                    _end(status)
                self.alone = set()
                continue
            begun, self._begun = list(self._begun), {}
            if not begun:
                _end(128 - status)
            # Which file ended it, or may have.
            if self.alone or not self._plan:
                self.deadly[begun[-1]] = signal.Signals(-status).name
            else:
                self.alone = set(begun)
        return work()


watched = _Watched()  # what is known of this batch; nothing where it is not watched


def _end(status: int) -> NoReturn:
    """End this process without taking apart what is loaded: 15 of the 370 ms of eight small pictures."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # AttributeError: a stream that was closed before the start is None.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


def _end_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(128 + getattr(signal, "SIGKILL", signal.SIGTERM))


def _pass_signals_on(child: int) -> None:
    """Let the process that works hear what this one hears: a terminal tells only this one."""

    def tell(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    def halt(*_: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(child, signal.SIGCONT)

    for number in _STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, tell)
    signal.signal(signal.SIGTSTP, halt)
