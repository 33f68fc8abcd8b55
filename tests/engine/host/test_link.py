"""Whatever goes wrong between the two processes, whoever waits is told: the link's end comes, once, with a reason."""

import logging
import os
import signal
import threading
from collections.abc import Callable

import pytest

from engine.errors import HostLost
from engine.host.client import EngineClient
from engine.host.link import HostLink
from engine.host.messages import Progress
from engine.host.process import HostOptions
from engine.host.protocol import OpenPicture
from tests.engine.host import faulty_hosts
from tests.engine.host.conftest import PATIENCE_S, Watched

Start = Callable[[], Watched]


def fail(*_: object) -> None:
    raise ValueError("a callback that fails")


def test_that_a_process_that_cannot_be_started_is_told(
    start_client: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_memory(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("engine.host.link.subprocess.Popen", no_memory)
    watched = start_client()
    with pytest.raises(HostLost, match=r"its connection failed \(OSError: .*Cannot allocate memory"):
        watched.open_sample()
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


def test_that_a_message_that_cannot_be_read_ends_the_host(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.send_what_cannot_be_read)
    watched = start_client()
    with pytest.raises(HostLost, match=r"its connection failed \(ZeroDivisionError"):
        watched.open_sample()


def test_that_a_request_that_cannot_be_sent_fails(start_client: Start) -> None:
    watched = start_client()
    watched.wait_until_up()
    with pytest.raises(HostLost, match="a request could not be sent to it"):
        watched.client.submit(OpenPicture(fail_to_pickle)).result(PATIENCE_S)
    assert watched.open_sample().width > 0


def test_that_a_callback_that_fails_harms_no_request(
    start_client: Start, caplog: pytest.LogCaptureFixture
) -> None:
    watched = start_client()
    first = watched.wait_until_up()
    told: list[Progress] = []

    def note_and_fail(step: Progress) -> None:
        told.append(step)
        fail()

    asked = watched.client.submit(OpenPicture(sample="camera"), note_and_fail)
    assert asked.result(PATIENCE_S).width > 0
    assert told
    assert watched.client.host_pid == first
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * len(told)


def test_that_a_listener_that_fails_harms_no_request() -> None:
    heard: list[object] = []

    def note_and_fail(told: object) -> None:
        heard.append(told)
        fail()

    client = EngineClient(on_ready=note_and_fail, on_lost=note_and_fail)
    client.start()
    try:
        ask = OpenPicture(sample="camera")
        assert client.submit(ask).result(PATIENCE_S).width > 0
        pid = client.host_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while len(heard) < 2:
            assert client.submit(ask).result(PATIENCE_S).width > 0
        assert isinstance(heard[1], HostLost)
    finally:
        client.shutdown()


def test_that_a_process_that_outlives_its_kill_is_waited_for_in_peace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.say_nothing)
    given_up, kills = threading.Event(), []
    ends: list[str] = []

    class Unkillable(HostLink):
        def kill(self, reason: str) -> None:
            kills.append(reason)
            given_up.set()

    link = Unkillable(
        HostOptions(),
        on_message=lambda link, message: None,
        on_end=lambda link, reason: ends.append(reason),
        next_deadline=lambda: 0.0,
    )
    link.start()
    assert given_up.wait(PATIENCE_S)
    # It is asked to look anew and has every chance to be impatient.
    link.look_again()
    assert link.pid is not None
    os.kill(link.pid, signal.SIGTERM)
    assert link.join(PATIENCE_S)
    assert len(kills) == 1
    assert ends == ["it crashed (SIGTERM)"]


def fail_to_pickle() -> None:
    """Stand in for something that the pipe cannot carry."""


fail_to_pickle.__qualname__ = "nowhere"
