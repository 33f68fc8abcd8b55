"""The host's loop: one thread reads the pipe, the main thread does one job at a time, the newest preview first."""

import os
import threading
from collections import deque
from multiprocessing.connection import Connection

from engine.device.code_store import told_of_code_not_kept
from engine.errors import Cancelled, DeviceFault, EngineError
from engine.files.atomic_write import undivided
from engine.host import jobs, shared
from engine.host.handlers import HANDLERS
from engine.host.protocol import (
    Cancel,
    Done,
    Failed,
    Noticed,
    Progress,
    Release,
    Stop,
    ToHost,
    Working,
)
from engine.host.queue_policy import QueuePolicy

# sysexits.h, EX_SOFTWARE: the process is lost for CUDA and ends itself after it has said so.
EXIT_AFTER_FAULT = 70

# After so long without a request, spare segments that only serve the next preview are given back.
_IDLE_SECONDS = 2.0


class Worker:
    """Answers what comes through the pipe.

    Parameters
    ----------
    connection : Connection
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: deque[ToHost] = deque()
        self._cancelled: set[int] = set()
        self._current: ToHost | None = None
        self._stopping = False

    def run(self) -> None:
        """Serve until `Stop` or until the other side is gone."""
        self._send(jobs.ready())
        threading.Thread(target=self._read, name="pipe", daemon=True).start()
        with told_of_code_not_kept(lambda warning: self._send(Noticed(warning))):
            while (message := self._next()) is not None:
                self._answer(message)

    def _read(self) -> None:
        """Take messages; answer light questions here, so that they need not wait for a run."""
        message: object = None
        while not isinstance(message, Stop):
            message = self._receive()
            came = [message]
            # All that lies in the pipe is known before any of it is begun: one may stop another.
            while not isinstance(message, Stop | None) and self._has_more():
                message = self._receive()
                came.append(message)
            self._note([m for m in came if not (isinstance(m, Release) or _is_light(m))])
            for other in came:
                if isinstance(other, Release):
                    shared.recycle(*other.names)
                elif isinstance(other, ToHost) and _is_light(other):
                    self._answer(other)
            if message is None:
                # The window is gone without a word: a file that is being saved is finished first.
                return
        self._leave_save()

    def _receive(self) -> object:
        """Return the next message; None where nobody is left to send one."""
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            return None

    def _has_more(self) -> bool:
        try:
            return self._connection.poll()
        except OSError:
            return False

    def _leave_save(self) -> None:
        """End the process where it prepares a file that nobody waits for; one that is being written becomes whole."""
        with self._changed:
            is_saving = self._current is not None and bool(self._current.request.written_path)
        if is_saving:
            # Encoding cannot be interrupted otherwise: 12,000 x 12,000 pixels take 12 s.
            with undivided():
                os._exit(0)

    def _note(self, messages: list[object]) -> None:
        with self._changed:
            for message in messages:
                if isinstance(message, ToHost):
                    if message.request.queue is QueuePolicy.NEWEST:
                        self._waiting.appendleft(message)
                    else:
                        self._waiting.append(message)
                elif isinstance(message, Cancel):
                    # One that comes after the answer would be remembered for ever.
                    is_current = self._current is not None and message.id == self._current.id
                    if is_current or any(waiting.id == message.id for waiting in self._waiting):
                        self._cancelled.add(message.id)
                elif isinstance(message, Stop | None):
                    self._stopping = True
            self._changed.notify()

    def _next(self) -> ToHost | None:
        with self._changed:
            idle_seconds: float | None = _IDLE_SECONDS
            while not self._waiting and not self._stopping:
                if self._changed.wait(idle_seconds):
                    idle_seconds = _IDLE_SECONDS
                else:
                    shared.trim_spares()
                    idle_seconds = None
            if self._stopping:
                return None
            self._current = self._waiting.popleft()
            return self._current

    def _answer(self, message: ToHost) -> None:
        def stop_if_cancelled() -> None:
            if self._stopping or message.id in self._cancelled:
                raise Cancelled("The request", "it was stopped")

        def report(progress: Progress) -> None:
            stop_if_cancelled()
            self._send(Working(message.id, progress))

        try:
            # The picture of a request that was stopped while it waited may be gone already.
            stop_if_cancelled()
            answer = HANDLERS[type(message.request)]
            self._send(Done(message.id, answer(message.request, report)))
        except DeviceFault as error:
            self._send(Failed(message.id, error, fatal=True))
            # Destructors of a lost CUDA context raise or hang: leave without them.
            os._exit(EXIT_AFTER_FAULT)
        except EngineError as error:
            self._send(Failed(message.id, error))
        except MemoryError as error:
            self._send(Failed(message.id, _out_of_memory(error)))
        except Exception as error:  # noqa: BLE001 - the process's boundary: whatever it was becomes an answer
            self._send(Failed(message.id, _unexpected(error)))
        finally:
            self._forget(message)

    def _forget(self, message: ToHost) -> None:
        with self._changed:
            self._cancelled.discard(message.id)
            # A light question is answered while another request is the current one.
            if self._current is message:
                self._current = None

    def _send(self, message: object) -> None:
        with self._sending:
            try:
                self._connection.send(message)
            except (BrokenPipeError, OSError):
                self._stopping = True


def _is_light(message: object) -> bool:
    return isinstance(message, ToHost) and message.request.queue is QueuePolicy.AT_ONCE


def _out_of_memory(error: MemoryError) -> EngineError:
    return EngineError("Not enough memory", str(error) or "the system gave no more", "Use a smaller picture.")


def _unexpected(error: Exception) -> EngineError:
    cause = " ".join(str(error).split())[:300]
    return EngineError(
        "The engine met something unexpected",
        f"{type(error).__name__}: {cause}",
        "Try another kernel or picture; please report it with this line.",
    )
