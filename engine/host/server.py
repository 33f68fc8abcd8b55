"""The host's loop: one thread reads the pipe, the main thread does one job at a time, the newest preview first."""

import os
import threading
from collections import deque
from multiprocessing.connection import Connection

from engine.errors import Cancelled, DeviceFault, EngineError
from engine.host import course_jobs, jobs, matmul_jobs, shared
from engine.host.course_requests import CountCourse, MeasureCourse, SaveCourse
from engine.host.matmul_requests import CountMatmul, RunMatmul
from engine.host.protocol import (
    Cancel,
    CheckVariants,
    Done,
    Failed,
    OpenPicture,
    Preview,
    Progress,
    Release,
    Run,
    SaveResult,
    Stop,
    ToHost,
    Working,
)
from engine.host.queue_policy import QueuePolicy

# sysexits.h, EX_SOFTWARE: the process is lost for CUDA and ends itself after it has said so.
EXIT_AFTER_FAULT = 70


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
        self._current: int | None = None
        self._stopping = False

    def run(self) -> None:
        """Serve until `Stop` or until the other side is gone."""
        self._send(jobs.ready())
        threading.Thread(target=self._read, name="pipe", daemon=True).start()
        while (message := self._next()) is not None:
            self._answer(message)

    def _read(self) -> None:
        """Take messages; answer light questions here, so that they need not wait for a run."""
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                message = Stop()
            if isinstance(message, Release):
                shared.recycle(*message.names)
            elif isinstance(message, ToHost) and message.request.queue is QueuePolicy.AT_ONCE:
                self._answer(message)
            else:
                self._note(message)
            if isinstance(message, Stop):
                return

    def _note(self, message: object) -> None:
        with self._changed:
            if isinstance(message, ToHost):
                if isinstance(message.request, Preview):
                    self._waiting.appendleft(message)
                else:
                    self._waiting.append(message)
            elif isinstance(message, Cancel):
                # One that comes after the answer would be remembered for ever.
                if message.id == self._current or any(waiting.id == message.id for waiting in self._waiting):
                    self._cancelled.add(message.id)
            elif isinstance(message, Stop):
                self._stopping = True
            self._changed.notify()

    def _next(self) -> ToHost | None:
        with self._changed:
            while not self._waiting and not self._stopping:
                self._changed.wait()
            if self._stopping:
                return None
            message = self._waiting.popleft()
            self._current = message.id
            return message

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
            self._send(Done(message.id, self._do(message, report)))
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
            if self._current == message.id:
                self._current = None

    def _do(self, message: ToHost, report: jobs.Report) -> object:
        request = message.request
        if isinstance(request, Preview):
            return jobs.preview(request, report)
        if isinstance(request, Run):
            return jobs.run(request, report)
        if isinstance(request, OpenPicture):
            return jobs.open_picture(request, report)
        if isinstance(request, CheckVariants):
            return jobs.check_variants(request)
        if isinstance(request, CountCourse):
            return course_jobs.count_course(request)
        if isinstance(request, MeasureCourse):
            return course_jobs.measure_course(request, report)
        if isinstance(request, SaveCourse):
            return course_jobs.save_course(request, report)
        if isinstance(request, CountMatmul):
            return matmul_jobs.count_matmul(request)
        if isinstance(request, RunMatmul):
            return matmul_jobs.run_matmul(request, report)
        assert isinstance(request, SaveResult)
        return jobs.save_result(request, report)

    def _send(self, message: object) -> None:
        with self._sending:
            try:
                self._connection.send(message)
            except (BrokenPipeError, OSError):
                self._stopping = True


def _out_of_memory(error: MemoryError) -> EngineError:
    return EngineError("Not enough memory", str(error) or "the system gave no more", "Use a smaller picture.")


def _unexpected(error: Exception) -> EngineError:
    cause = " ".join(str(error).split())[:300]
    return EngineError(
        "The engine met something unexpected",
        f"{type(error).__name__}: {cause}",
        "Try another kernel or picture; please report it with this line.",
    )
