"""Whatever goes wrong between the two processes, the link's end is reported, once, with a reason."""

import logging
import os
import signal
import threading

import pytest

from engine.errors import HostLost
from engine.host.client import EngineClient
from engine.host.link import HostLink
from engine.host.process import HostOptions
from engine.host.protocol import OpenPicture
from engine.results.progress import Progress
from tests.engine.host import faulty_hosts
from tests.engine.host.conftest import PATIENCE_S
from tests.engine.host.faulty_hosts import Make


def fail(*_: object) -> None:
    raise ValueError("a callback that fails")


def test_that_a_process_that_cannot_be_started_is_reported(start, monkeypatch, caplog):
    def no_memory(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("engine.host.link.subprocess.Popen", no_memory)
    with pytest.raises(HostLost, match=r"its connection failed \(OSError: .*Cannot allocate memory"):
        start().ask(Make())
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


@pytest.mark.slow
def test_that_a_message_that_cannot_be_read_ends_the_host(start):
    with pytest.raises(HostLost, match=r"its connection failed \(ZeroDivisionError"):
        start(faulty_hosts.send_what_cannot_be_read).ask(Make())


def fail_to_pickle() -> None:
    """An object that cannot be pickled."""


fail_to_pickle.__qualname__ = "nowhere"


def test_that_a_request_that_cannot_be_sent_fails(start_up):
    watched, _ = start_up()
    with pytest.raises(HostLost, match="a request could not be sent to it"):
        watched.ask(OpenPicture(fail_to_pickle))
    assert watched.ask(Make())


def test_that_callbacks_that_fail_harm_no_request(start, caplog, monkeypatch):
    heard: list[object] = []

    def note_and_fail(event: object) -> None:
        heard.append(event)
        fail()

    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.light)
    client = EngineClient(on_ready=note_and_fail, on_lost=note_and_fail)
    try:
        assert client.submit(Make(reports=True), note_and_fail).result(PATIENCE_S)
        pid = client.host_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while not any(isinstance(event, HostLost) for event in heard):
            assert client.submit(Make()).result(PATIENCE_S)
    finally:
        client.shutdown()
    assert any(isinstance(event, Progress) for event in heard)
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * len(heard)


def test_that_a_process_that_outlives_its_kill_is_waited_for_in_peace(monkeypatch):
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
    # It reads its deadline, which has passed, again.
    link.look_again()
    assert link.pid is not None
    os.kill(link.pid, signal.SIGTERM)
    assert link.join(PATIENCE_S)
    assert len(kills) == 1
    assert ends == ["it crashed (SIGTERM)"]
