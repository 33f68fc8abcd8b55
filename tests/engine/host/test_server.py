"""The start of a host in this process, its loop with answers that only take notes, segments given back."""

import os
import signal
import sys
import threading
from multiprocessing import Pipe, resource_tracker

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
from engine.host import __main__ as process
from engine.host import server, shared
from engine.host.protocol import OpenPicture
from engine.host.request import (
    Cancel,
    HostOptions,
    QueuePolicy,
    Ready,
    Reply,
    Run,
    SharedArray,
    Stop,
    ToHost,
    Working,
)
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
    assert served.hear() == Reply(4, "at once")
    served.let_go.set()
    assert served.hear() == Reply(1, "held")
    stopped = served.hear()
    assert isinstance(stopped, Reply)
    assert stopped.id == 2
    assert isinstance(stopped.error, Cancelled)
    assert served.hear() == Reply(3, "last")
    assert served.done == ["held", "last"]
    # A cancel that comes after the answer is forgotten.
    for _ in range(2):
        served.tell(ask(5, "first"))
        assert served.hear() == Reply(5, "first")
        served.tell(Cancel(5))


def test_that_tiles_come_beside_a_run(served):
    served.start()
    served.tell(ask(1, "held"))
    assert served.at_work.wait(PATIENCE_S)
    served.tell(ToHost(2, Beside(7)))
    assert served.hear() == Reply(2, 7)
    served.let_go.set()
    assert served.hear() == Reply(1, "held")


def test_that_of_what_waits_beside_a_run_the_newest_comes_first_and_any_can_be_cancelled(served):
    served.start()
    served.tell(ToHost(1, Beside(0)))
    assert served.at_work_beside.wait(PATIENCE_S)
    served.tell(*(ToHost(number, Beside(number)) for number in (2, 3, 4)), Cancel(2), ToHost(5, Question()))
    # The question is answered when all before it are known.
    assert served.hear() == Reply(5, "at once")
    served.go_beside.set()
    assert [served.hear() for _ in range(3)] == [Reply(1, 0), Reply(4, 4), Reply(3, 3)]
    assert isinstance(served.hear().error, Cancelled)


def test_that_a_request_that_was_cancelled_during_the_start_begins_nothing(served):
    # What lies between gives it time to begin; all of it fits in the pipe.
    served.tell(ask(1, "stopped"), *[Cancel(2)] * 100, Cancel(1))
    served.start()
    stopped = served.hear()
    assert isinstance(stopped, Reply)
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


@pytest.mark.parametrize("use_cuda", [True, False])
def test_that_a_host_serves_until_it_is_stopped(monkeypatch, use_cuda):
    def state(request, report):
        ours.send(Stop())
        return os.environ["CUDA_VISIBLE_DEVICES"], shared._prefix

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "unset")
    monkeypatch.setattr(shared, "_prefix", "mine")
    # Without the devices nothing imports Numba.
    monkeypatch.setattr(server, "devices", lambda: ())
    monkeypatch.setattr(Question, "handler", f"{__name__}:state")
    monkeypatch.setitem(globals(), "state", state)
    ours, theirs = Pipe()
    with ours, theirs:
        ours.send(ToHost(1, Question()))
        process.serve(theirs, HostOptions(use_cuda=use_cuda))
        assert ours.recv() == READY
        assert ours.recv() == Reply(1, ("unset" if use_cuda else "", "mine"))


def send_back(connection, options):
    connection.send(options)


@pytest.mark.parametrize("parent_has_ended", [False, True])
def test_that_the_entry_point_calls_what_the_parent_sent(monkeypatch, parent_has_ended):
    moved, ignored = [], {}
    monkeypatch.setattr(os, "dup2", lambda *descriptors: moved.append(descriptors))
    monkeypatch.setattr(signal, "signal", ignored.__setitem__)
    monkeypatch.setattr(resource_tracker._resource_tracker, "_fd", None)
    ours, theirs = Pipe()
    with ours, theirs:
        pipe, tracker = os.dup(theirs.fileno()), os.dup(theirs.fileno())
        theirs.close()
        monkeypatch.setattr(sys, "argv", ["engine.host", str(pipe), str(tracker)])
        if parent_has_ended:
            ours.close()
        else:
            ours.send((send_back, HostOptions(segment_prefix="a")))
        process.main()
        assert parent_has_ended or ours.recv() == HostOptions(segment_prefix="a")
    # What libraries print goes to standard error.
    assert moved == [(2, 1)]
    assert ignored == dict.fromkeys((signal.SIGINT, signal.SIGHUP), signal.SIG_IGN)
    assert resource_tracker._resource_tracker._fd == tracker
    os.close(tracker)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system holds no thread to a core")
def test_that_the_host_keeps_to_one_core_only_while_it_is_imported(monkeypatch):
    allowed, done, seen = os.sched_getaffinity(0), threading.Event(), []
    started = threading.Thread(target=done.wait)

    def described(request, report):
        seen.append(os.sched_getaffinity(0))
        started.start()

    def work(*given):
        seen.extend(map(os.sched_getaffinity, (0, started.native_id)))

    monkeypatch.setattr(process, "answer", described)
    monkeypatch.setattr(server, "work", work)
    process.serve(None, HostOptions(described=Question()))
    done.set()
    assert seen == [{max(allowed)}, allowed, allowed]
