"""What the host's loop does with messages, in this process: its jobs are replaced by ones that only take notes."""

import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from engine.errors import Cancelled
from engine.host import run_jobs
from engine.host.handlers import HANDLERS
from engine.host.messages import Cancel, Done, Failed, Progress, Report, Stop, ToHost, Working
from engine.host.protocol import CheckVariants, FilterJob, OpenPicture, PictureHandle, ScreenLevels
from engine.host.server import Worker
from engine.host.shared_array import SharedArray
from engine.mask.mask import Mask
from tests.engine.host.conftest import PATIENCE_S


class Served:
    """A worker on a thread; a request for the sample "held" is at work until `let_go`."""

    def __init__(self, connection: Connection) -> None:
        self.done: list[str] = []
        self.at_work = threading.Event()
        self.let_go = threading.Event()
        self._connection = connection

    def open_picture(self, request: OpenPicture, report: Report) -> str:
        self.done.append(request.sample)
        report(Progress("opening", 0.0, 1.0))
        if request.sample == "held":
            self.at_work.set()
            assert self.let_go.wait(PATIENCE_S)
        return request.sample

    def question(self, number: int) -> ToHost:
        picture = SharedArray("none", (1, 1, 1), "uint8")
        handle = PictureHandle(picture, None, ScreenLevels(()), "none", "none")
        return ToHost(number, CheckVariants(FilterJob(picture=handle, mask=Mask([[1]]))))

    def tell(self, *messages: object) -> None:
        for message in messages:
            self._connection.send(message)

    def hear(self) -> object:
        while True:
            assert self._connection.poll(PATIENCE_S)
            message = self._connection.recv()
            if not isinstance(message, Working):
                return message


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    ours, theirs = Pipe()
    with ours, theirs:
        served = Served(ours)
        monkeypatch.setattr(run_jobs, "ready", lambda: "ready")
        monkeypatch.setitem(HANDLERS, OpenPicture, served.open_picture)
        monkeypatch.setitem(HANDLERS, CheckVariants, lambda request, report: "at once")
        thread = threading.Thread(target=Worker(theirs).run)
        thread.start()
        assert served.hear() == "ready"
        yield served
        served.let_go.set()
        served.tell(Stop())
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def ask(number: int, sample: str) -> ToHost:
    return ToHost(number, OpenPicture(sample=sample))


def test_that_a_request_that_was_cancelled_while_it_waited_is_not_begun(served: Served) -> None:
    served.tell(ask(1, "held"))
    assert served.at_work.wait(PATIENCE_S)
    served.tell(ask(2, "stopped"), Cancel(2), ask(3, "last"), served.question(4))
    # It is answered as soon as it is read, so what was sent before it has been read too.
    assert served.hear() == Done(4, "at once")
    served.let_go.set()
    assert served.hear() == Done(1, "held")
    stopped = served.hear()
    assert isinstance(stopped, Failed)
    assert stopped.id == 2
    assert isinstance(stopped.error, Cancelled)
    assert served.hear() == Done(3, "last")
    assert served.done == ["held", "last"]


def test_that_a_request_and_its_cancel_that_came_while_the_process_started_begin_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = Pipe()
    with ours, theirs:
        served = Served(ours)
        monkeypatch.setattr(run_jobs, "ready", lambda: "ready")
        monkeypatch.setitem(HANDLERS, OpenPicture, served.open_picture)
        # What lies between gives it time to begin; all of it fits in the pipe.
        served.tell(ask(1, "stopped"), *[Cancel(2)] * 100, Cancel(1))
        thread = threading.Thread(target=Worker(theirs).run)
        thread.start()
        assert served.hear() == "ready"
        assert isinstance(served.hear(), Failed)
        served.tell(Stop())
        thread.join(PATIENCE_S)
    assert served.done == []


def test_that_a_cancel_that_comes_after_the_answer_is_forgotten(served: Served) -> None:
    served.tell(ask(1, "first"))
    assert served.hear() == Done(1, "first")
    served.tell(Cancel(1), ask(1, "again"))
    assert served.hear() == Done(1, "again")
