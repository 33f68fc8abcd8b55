"""The start of a host, in this process: what `python -m engine.host` and `serve` do with their options."""

import os
import signal
import sys
import threading
from multiprocessing import Pipe, resource_tracker

import pytest

from engine.host import __main__ as process
from engine.host import server, shared
from engine.host.request import Answer, HostOptions, Ready, Stop, ToHost
from tests.engine.host.faulty_hosts import Question

READY = Ready((), ())


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
        assert ours.recv() == Answer(1, ("unset" if use_cuda else "", "mine"))


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
