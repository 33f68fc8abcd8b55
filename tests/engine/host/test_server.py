"""The host's loop with answers that only take notes, and which segments vanish when given back."""

import threading
from multiprocessing import Pipe

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.explain.device_limits import KeptLimits, MeasureLimits
from engine.explain.messages import (
    AblationJob,
    CodeRequest,
    CompiledLaunchRequest,
    LaunchRequest,
    TimeRequest,
)
from engine.host import shared
from engine.host.protocol import OpenPicture
from engine.host.request import Answer, Cancel, QueuePolicy, Ready, Run, SharedArray, Stop, ToHost, Working
from engine.host.server import Worker
from engine.host.shared import HandedSegments
from engine.mask.generators import gaussian
from engine.results.problem import Progress
from tests.engine.host.conftest import PATIENCE_S
from tests.engine.host.faulty_hosts import Beside, Question
from tests.picture_jobs import mask_job, mask_request

READY = Ready((), ())


class Served:
    """A worker on a thread; a request for the sample "held" is at work until `let_go`."""

    def __init__(self, connection, theirs):
        self.done = []
        self.at_work = threading.Event()
        self.let_go = threading.Event()
        self.begun_beside = []
        self.at_work_beside = threading.Event()
        self.go_beside = threading.Event()
        self._connection = connection
        self.thread = threading.Thread(target=Worker(theirs, self.answer).serve, args=(READY,))

    def start(self):
        self.thread.start()
        assert self.hear() == READY

    def answer(self, request, report):
        if isinstance(request, Beside):
            self.begun_beside.append(request.number)
            self.at_work_beside.set()
            assert request.number or self.go_beside.wait(PATIENCE_S)
            return request.number
        return "at once" if isinstance(request, Question) else self.open_picture(request, report)

    def open_picture(self, request, report):
        self.done.append(request.sample)
        report(Progress("opening", 0.0, 1.0))
        if request.sample == "held":
            self.at_work.set()
            assert self.let_go.wait(PATIENCE_S)
        return request.sample

    def tell(self, *messages):
        for message in messages:
            self._connection.send(message)

    def hear(self):
        while True:
            assert self._connection.poll(PATIENCE_S)
            message = self._connection.recv()
            if not isinstance(message, Working):
                return message


@pytest.fixture
def served():
    """A worker that is not started yet."""
    ours, theirs = Pipe()
    with ours, theirs:
        served = Served(ours, theirs)
        yield served
        served.let_go.set()
        served.tell(Stop())
        served.thread.join(PATIENCE_S)
        assert not served.thread.is_alive()


def ask(number, sample):
    return ToHost(number, OpenPicture(sample=sample))


def test_that_a_request_that_was_cancelled_while_it_waited_is_not_begun(served):
    served.start()
    served.tell(ask(1, "held"))
    assert served.at_work.wait(PATIENCE_S)
    served.tell(ask(2, "stopped"), Cancel(2), ask(3, "last"), ToHost(4, Question()))
    # It is answered as soon as it is read, so what was sent before it has been read too.
    assert served.hear() == Answer(4, "at once")
    served.let_go.set()
    assert served.hear() == Answer(1, "held")
    stopped = served.hear()
    assert isinstance(stopped, Answer)
    assert stopped.id == 2
    assert isinstance(stopped.error, Cancelled)
    assert served.hear() == Answer(3, "last")
    assert served.done == ["held", "last"]
    # A cancel that comes after the answer is forgotten.
    for _ in range(2):
        served.tell(ask(5, "first"))
        assert served.hear() == Answer(5, "first")
        served.tell(Cancel(5))


def test_that_tiles_come_beside_a_run(served):
    served.start()
    served.tell(ask(1, "held"))
    assert served.at_work.wait(PATIENCE_S)
    served.tell(ToHost(2, Beside(7)))
    assert served.hear() == Answer(2, 7)
    served.let_go.set()
    assert served.hear() == Answer(1, "held")


def test_that_of_what_waits_beside_a_run_the_newest_comes_first_and_any_can_be_cancelled(served):
    served.start()
    served.tell(ToHost(1, Beside(0)))
    assert served.at_work_beside.wait(PATIENCE_S)
    served.tell(*(ToHost(number, Beside(number)) for number in (2, 3, 4)), Cancel(2), ToHost(5, Question()))
    # The question is answered when all before it are known.
    assert served.hear() == Answer(5, "at once")
    served.go_beside.set()
    assert [served.hear() for _ in range(3)] == [Answer(1, 0), Answer(4, 4), Answer(3, 3)]
    assert isinstance(served.hear().error, Cancelled)


def test_that_a_request_that_was_cancelled_during_the_start_begins_nothing(served):
    # What lies between gives it time to begin; all of it fits in the pipe.
    served.tell(ask(1, "stopped"), *[Cancel(2)] * 100, Cancel(1))
    served.start()
    stopped = served.hear()
    assert isinstance(stopped, Answer)
    assert isinstance(stopped.error, Cancelled)
    assert served.done == []


@pytest.fixture
def name():
    (array,) = shared.create(((4,), "uint8"))
    shared.attach(array)[...] = 7
    yield array.name
    shared.unlink(array.name)


def exists(name):
    shared.forget(name)
    try:
        values = shared.attach(SharedArray(name, (4,), "uint8"))
    except FileNotFoundError:
        return False
    return bool(np.array_equal(values, [7] * 4))


def test_that_a_segment_is_given_back_once_to_its_host_if_that_lives(name):
    segments, maker = HandedSegments(), name.rpartition("-")[0]
    assert segments.give_back((name,), maker) == ()
    for living in (maker, None):
        segments.hand_over((name,))
        assert segments.give_back((name,), living) == (name,)
        assert segments.give_back((name,), living) == ()
        assert exists(name) is (living is not None)


def test_that_what_compiles_counts_or_measures_waits_for_what_runs_and_nothing_else():
    job = mask_job(picture=None, variant="naive", mask=gaussian(5))
    ablation = mask_request(AblationJob, picture=None, variant="naive", mask=gaussian(5))
    waiting = (
        MeasureLimits("cpu"),
        CodeRequest(job),
        CompiledLaunchRequest(job),
        TimeRequest(job),
        Run(ablation),
    )
    assert {request.queue for request in waiting} == {QueuePolicy.IN_ORDER}
    assert {request.queue for request in (KeptLimits("cpu"), LaunchRequest(job))} == {QueuePolicy.AT_ONCE}
