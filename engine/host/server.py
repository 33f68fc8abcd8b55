"""The host's loop: a thread reads the pipe, the main one does a job at a time, a third one what is beside."""

import os
import threading
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from engine.compiled.code_store import report_code_not_kept
from engine.device.devices import devices
from engine.errors import Cancelled, DeviceFault, EngineError
from engine.host import request as messages
from engine.host import shared
from engine.host.request import QueuePolicy, Reply, Request, Stop, ToHost, VariantInfo, answer
from engine.interrupts import undivided
from engine.process import shortage_of, take_process
from engine.results.problem import Checkpoint, Progress

# sysexits.h, EX_SOFTWARE: the process is lost for CUDA and ends itself after it has reported that.
EXIT_AFTER_FAULT = 70

_IDLE_SECONDS = 2.0  # after this long without a request, unused segments for the next preview are removed


def work(connection: Connection, variants: tuple[VariantInfo, ...], segment_prefix: str) -> None:
    """Say that the process is up, with these variants, and serve until `Stop` or the other side is gone."""
    take_process(lives_on=True)
    if segment_prefix:
        shared.use_prefix(segment_prefix)
    Worker(connection).serve(messages.Ready(variants, devices()))


class Worker:
    """Answers what a pipe (`recv`, `poll`, `send`) brings by `answers`, which raises `EngineError`."""

    def __init__(self, connection: Any, answers: Callable[[Request, Checkpoint], object] = answer) -> None:
        self._connection = connection
        self._answers = answers
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: deque[ToHost] = deque()
        self._beside: deque[ToHost] = deque()
        self._cancelled: set[int] = set()
        self._current: ToHost | None = None
        self._stopping = False

    def serve(self, ready: messages.Ready | None = None) -> None:
        """Send `ready`, where there is one, and serve until `Stop` or the other side is gone."""
        if ready is not None:
            self._send(ready)
        threading.Thread(target=self._read, name="pipe", daemon=True).start()
        threading.Thread(target=self._answer_beside, name="beside", daemon=True).start()
        with report_code_not_kept(self._send):
            while (message := self._next()) is not None:
                self._answer(message)

    def _read(self) -> None:
        """Take messages; answer quick requests here, so that they need not wait for a run."""
        last: object = None
        while not isinstance(last, Stop):
            # All that lies in the pipe is known before any of it is begun: one may cancel another.
            arrived: list[object] = []
            try:
                while not arrived or (not isinstance(arrived[-1], Stop) and self._connection.poll()):
                    arrived.append(self._connection.recv())
            except (EOFError, OSError):
                arrived.append(None)
            with self._changed:
                at_once = [message for message in arrived if not self._is_noted(message)]
                self._changed.notify_all()
            for message in at_once:
                if isinstance(message, ToHost):
                    self._answer(message)
                elif isinstance(message, messages.Release):
                    shared.recycle(*message.names)
            if (last := arrived[-1]) is None:
                # The window has ended without a message: a file that is being saved is finished first.
                return
        with self._changed:
            is_saving = self._current is not None and bool(self._current.request.written_path)
        if is_saving:
            # Encoding cannot be interrupted: 12,000 x 12,000 pixels take 12 s. A file that is being written
            # is completed first.
            with undivided():
                os._exit(0)

    def _is_noted(self, message: object) -> bool:
        """Note what waits, or changes that; return whether nothing is done at once. Under the lock."""
        if isinstance(message, ToHost):
            policy = message.request.queue
            waiting = self._beside if policy is QueuePolicy.BESIDE else self._waiting
            if policy is not QueuePolicy.AT_ONCE:
                (waiting.append if policy is QueuePolicy.IN_ORDER else waiting.appendleft)(message)
            return policy is not QueuePolicy.AT_ONCE
        if isinstance(message, messages.Cancel):
            # One that comes after the answer would be kept for the life of the process.
            if any(one and one.id == message.id for one in (self._current, *self._waiting, *self._beside)):
                self._cancelled.add(message.id)
        elif isinstance(message, Stop | None):
            self._stopping = True
        return not isinstance(message, messages.Release)

    def _answer_beside(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._beside or self._stopping)
                if self._stopping:
                    return
                message = self._beside.popleft()
            self._answer(message)

    def _next(self) -> ToHost | None:
        with self._changed:
            idle_seconds: float | None = _IDLE_SECONDS
            while not self._waiting and not self._stopping:
                if self._changed.wait(idle_seconds):
                    idle_seconds = _IDLE_SECONDS
                else:
                    shared.trim_unused()
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
            self._send(messages.Working(message.id, progress))

        try:
            # The picture of a request that was cancelled while it waited may be gone already.
            stop_if_cancelled()
            self._send(Reply(message.id, self._answers(message.request, report)))
        except Exception as error:  # noqa: BLE001 - the process's boundary: every error becomes an answer
            is_fatal = isinstance(error, DeviceFault)
            reported = error if isinstance(error, EngineError) else shortage_of(error)
            if reported is None:
                why = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
                remedy = "Try another kernel or picture; please report it with this line."
                reported = EngineError("The engine met something unexpected", why, remedy)
            self._send(Reply(message.id, error=reported, fatal=is_fatal))
            if is_fatal:
                # Destructors of a lost CUDA context raise or hang: leave without them.
                os._exit(EXIT_AFTER_FAULT)
        finally:
            with self._changed:
                self._cancelled.discard(message.id)
                # A quick request is answered while another one is the current one.
                if self._current is message:
                    self._current = None

    def _send(self, message: object) -> None:
        with self._sending:
            try:
                self._connection.send(message)
            except (BrokenPipeError, OSError):
                self._stopping = True
