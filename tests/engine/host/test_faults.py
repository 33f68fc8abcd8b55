"""Whatever goes wrong between two processes: each end has a reason, the next request succeeds."""

import logging
import os
import pickle
import signal
import threading
from functools import partial

import pytest

from engine.errors import (
    Cancelled,
    DeviceFault,
    HostLost,
    HostLostTwice,
    ImageReadError,
    VerificationFailed,
)
from engine.geometry.block import Block, Refusal, UnsupportedVariant
from engine.host import client as client_module
from engine.host import link
from engine.host.__main__ import serve
from engine.host.client import EngineClient
from engine.host.link import Host
from engine.host.protocol import OpenPicture
from engine.host.request import HostOptions, Ready, Run
from engine.host.shared import HandedSegments
from engine.mask.mask import Mask
from engine.results.problem import Progress
from tests.engine.host import bare_hosts, faulty_hosts
from tests.engine.host.conftest import PATIENCE_S
from tests.engine.host.faulty_hosts import Make, Show, Stick, Work, gpu_devices, light
from tests.picture_jobs import mask_job

pytestmark = pytest.mark.slow


def test_that_the_run_after_a_killed_host_succeeds(start_up):
    watched, first = start_up(serve)
    job = mask_job(
        picture=watched.open_sample(), mask=Mask([[1.0] * 9] * 9), variant="cpu-serial", device="cpu"
    )
    # A sample of it takes 70 ms: a run of the most samples that are taken lasts 14 s.
    run = watched.begin(Run(job, 300.0), "sampling")
    os.kill(first, signal.SIGKILL)
    with pytest.raises(HostLost, match=r"The engine's process ended: it was killed \(SIGKILL\).*run again"):
        run.result(PATIENCE_S)
    assert watched.wait_until_up() != first
    assert [str(lost) for lost in watched.lost] == [str(run.exception())]
    assert watched.ask(Run(job, 0.01)).result.kernel_ms is not None


def fail_to_pickle():
    """An object that cannot be pickled."""


fail_to_pickle.__qualname__ = "nowhere"


def test_that_requests_behind_one_that_is_fatal_or_cannot_be_sent_go_to_the_successor_whatever_raises(
    start_up, monkeypatch, caplog
):
    def cannot_clean(segments, maker):
        clean(segments, maker)
        raise ValueError("cannot mmap an empty file")

    clean = HandedSegments.maker_ended
    monkeypatch.setattr(HandedSegments, "maker_ended", cannot_clean)
    watched, first = start_up()
    run = watched.begin(Work())
    behind = [watched.client.submit(request) for request in (Make(), Make(), Show(), Show())]
    os.kill(first, signal.SIGKILL)
    with pytest.raises(HostLost):
        run.result(PATIENCE_S)
    assert watched.wait_until_up() != first
    assert all(future.result(PATIENCE_S) for future in behind)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    with pytest.raises(HostLost, match="a request could not be sent to it"):
        watched.ask(OpenPicture(fail_to_pickle))
    assert watched.ask(Make())


def test_that_after_three_faults_in_ten_minutes_a_gpu_is_not_used_until_asked_otherwise(
    start_up, monkeypatch
):
    # Not after faults long ago, nor without a GPU.
    for gpu, window_s, is_given_up in [(True, 600.0, True), (True, 0.0, False), (False, 600.0, False)]:
        faults = link.Faults()
        faults.note_ready(Ready((), gpu_devices(gpu, is_usable=True)), used_cuda=True)
        with monkeypatch.context() as patched:
            patched.setattr(link, "FAULT_WINDOW_S", window_s)
            for _ in range(link.FAULTS_ALLOWED):
                assert faults.use_cuda
                faults.note_end(was_up=True)
        assert faults.use_cuda is not is_given_up
        assert ("only the CPU" in str(faults.lost_error("it crashed", has_successor=True))) is is_given_up
        # Faults are counted anew.
        faults.forget()
        faults.note_end(was_up=True)
        assert faults.use_cuda
    monkeypatch.setattr(link, "FAULTS_ALLOWED", 2)
    watched, pid = start_up(partial(light, gpu=True))
    for fault in range(2):
        assert watched.client.use_cuda
        assert all("GPU" not in str(lost) for lost in watched.lost), fault
        os.kill(pid, signal.SIGKILL)
        pid = watched.wait_until_up()
    assert not watched.client.use_cuda
    assert "After three faults in ten minutes only the CPU is used" in str(watched.lost[-1])
    watched.client.try_cuda_again()
    assert watched.wait_until_up() != pid
    assert (watched.client.use_cuda, len(watched.lost)) == (True, 2)


def test_that_a_host_that_stops_answering_is_replaced(start_up, monkeypatch):
    watched, first = start_up()
    reports = threading.Semaphore(0)
    run = watched.client.submit(Work(), lambda step: reports.release())
    assert reports.acquire(timeout=PATIENCE_S)
    # After it has begun: on a loaded machine that takes longer.
    monkeypatch.setattr(link, "SHORTEST_DEADLINE_S", 1.0)
    monkeypatch.setattr(link, "DEADLINE_FACTOR", 0.1)
    # In force from the next report on; one may be on its way.
    while reports.acquire(blocking=False):
        pass
    for _ in range(2):
        assert reports.acquire(timeout=PATIENCE_S)
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(HostLost, match="it did not answer for more than ten times the time"):
        run.result(PATIENCE_S)
    watched.wait_until_lost()
    second = watched.wait_until_up()
    assert second != first
    # Idle, it never takes the request up.
    os.kill(second, signal.SIGSTOP)
    asked = watched.client.submit(Show())
    watched.wait_until_lost()
    monkeypatch.setattr(link, "SHORTEST_DEADLINE_S", 20.0)
    assert watched.wait_until_up() != second
    assert asked.result(PATIENCE_S)


def test_that_a_picture_that_takes_too_long_or_ends_the_host_is_named_and_is_no_fault_of_the_device(
    start_up, monkeypatch
):
    watched, first = start_up()
    monkeypatch.setattr(link, "FAULTS_ALLOWED", 1)
    monkeypatch.setattr(link, "SHORTEST_DEADLINE_S", 0.3)
    monkeypatch.setattr(link, "DEADLINE_FACTOR", 0.0)
    late = watched.client.submit(OpenPicture("/far/away.jpg"))
    waiting = watched.client.submit(Make())
    with pytest.raises(ImageReadError, match=r"/far/away\.jpg cannot be opened: .* was given up"):
        late.result(PATIENCE_S)
    monkeypatch.setattr(link, "SHORTEST_DEADLINE_S", 20.0)
    # The next one does not wait for it.
    assert waiting.result(PATIENCE_S)
    pid = watched.wait_until_up()
    assert pid != first
    monkeypatch.setattr(link, "DEADLINE_FACTOR", 10.0)
    begun = threading.Event()
    opening = watched.client.submit(OpenPicture("/some/bad.avif"), lambda step: begun.set())
    waiting = watched.client.submit(Make())
    assert begun.wait(PATIENCE_S)
    os.kill(pid, signal.SIGSEGV)
    with pytest.raises(ImageReadError, match=r"/some/bad\.avif cannot be opened: .*SIGSEGV"):
        opening.result(PATIENCE_S)
    # The next one is answered by the next host.
    assert waiting.result(PATIENCE_S)
    assert watched.lost == []
    assert watched.client.use_cuda


def test_that_no_caller_waits_for_a_host_that_does_not_read(start, monkeypatch):
    monkeypatch.setattr(client_module, "STOP_S", 0.1)
    watched = start()
    os.kill(watched.wait_until_up(), signal.SIGSTOP)
    # More than a pipe holds.
    asked = [watched.client.submit(Make(weight=bytes(32_000))) for _ in range(64)]
    # It was not given up meanwhile, which would have let a caller go that waited.
    assert watched.lost == []
    watched.client.shutdown()
    for future in asked:
        with pytest.raises(Cancelled):
            future.result(0)


def test_that_a_request_that_no_host_survives_is_not_tried_for_ever(start_up, monkeypatch):
    watched, _ = start_up(faulty_hosts.stick_in_previews)
    monkeypatch.setattr(link, "SHORTEST_DEADLINE_S", 0.3)
    with pytest.raises(HostLost, match="it did not answer"):
        watched.ask(Show())
    assert len(watched.lost) == 2


def test_that_a_preview_that_loses_the_device_is_tried_twice(start_up):
    watched, _ = start_up(faulty_hosts.lose_the_device)
    for _ in range(2):
        with pytest.raises(HostLostTwice, match="illegal address"):
            watched.ask(Show())
    assert len(watched.lost) == 2
    with pytest.raises(
        DeviceFault, match=r"The GPU failed while running the kernel: \[700\] illegal address"
    ):
        watched.ask(Work())
    watched.client.try_cuda_again()
    with pytest.raises(HostLostTwice):
        watched.ask(Show())
    assert len(watched.lost) > 3
    assert watched.ask(Make())


def test_that_a_host_that_never_comes_up_is_not_started_for_ever(start, monkeypatch):
    monkeypatch.setattr(link, "FAILED_STARTS_ALLOWED", 1)
    monkeypatch.setattr(link, "FAULTS_ALLOWED", 1)
    watched = start(bare_hosts.exit_at_once)
    with pytest.raises(HostLost, match="it ended with exit code 3"):
        watched.ask(Make())
    # With CUDA first, then without.
    most = 2 * link.FAILED_STARTS_ALLOWED
    for _ in range(most):
        watched.wait_until_lost()
    assert watched.client.host_pid is None
    starts = ["A new one is being started" in str(lost) for lost in watched.lost]
    assert starts == [True] * (most - 1) + [False]
    assert "The next request starts a new one" in str(watched.lost[-1])
    # The next request starts another host.
    start()
    assert watched.ask(Make())
    assert len(watched.lost) == most


def test_that_the_gpu_can_be_tried_again_when_no_host_is_left(start, monkeypatch):
    monkeypatch.setattr(link, "FAILED_STARTS_ALLOWED", 1)
    watched = start(bare_hosts.exit_at_once)
    watched.wait_until_lost()
    assert watched.client.host_pid is None
    start()
    watched.client.try_cuda_again()
    assert watched.wait_until_up() == watched.client.host_pid
    watched.end()
    watched.client.try_cuda_again()
    assert watched.client.host_pid is None


def test_that_a_host_that_ends_while_it_looks_for_a_gpu_is_followed_by_one_on_the_cpu(start, monkeypatch):
    monkeypatch.setattr(link, "FAULTS_ALLOWED", 1)
    watched = start(partial(bare_hosts.exit_at_once, of="with CUDA"))
    assert watched.ask(Make())
    assert not watched.client.use_cuda
    assert len(watched.lost) == link.FAULTS_ALLOWED
    assert "only the CPU is used" in str(watched.lost[-1])


def test_that_a_host_that_says_nothing_is_given_up(start, monkeypatch):
    monkeypatch.setattr(link, "START_DEADLINE_S", 0.2)
    monkeypatch.setattr(link, "FAILED_STARTS_ALLOWED", 1)
    watched = start(bare_hosts.say_nothing)
    with pytest.raises(HostLost, match="it did not answer"):
        watched.ask(Make())


def test_that_a_run_that_cannot_stop_in_time_is_ended_with_its_host_and_shutting_down_answers_all_requests(
    start_up, monkeypatch
):
    watched, first = start_up()
    slow = watched.begin(Stick())
    with monkeypatch.context() as brief:
        brief.setattr(client_module, "GRACE_S", 0.05)
        watched.client.cancel(slow)
        with pytest.raises(Cancelled, match=r"The run was stopped: it could not stop within 0\.05 s"):
            slow.result(PATIENCE_S)
    assert watched.wait_until_up() != first
    assert watched.lost == []
    assert watched.client.use_cuda
    begun, waiting, last = watched.begin(Work()), *[watched.client.submit(Make()) for _ in range(2)]
    watched.client.cancel(waiting)
    with pytest.raises(Cancelled):
        waiting.result(0)
    watched.client.cancel(begun)
    with pytest.raises(Cancelled):
        begun.result(PATIENCE_S)
    assert last.result(PATIENCE_S)
    assert len(watched.hosts) == 2
    asked = [watched.begin(Work()), watched.client.submit(Make())]
    watched.end()
    for future in (*asked, watched.client.submit(Show())):
        with pytest.raises(Cancelled):
            future.result(0)


def test_that_requests_are_answered_when_segments_cannot_be_noted_or_no_successor_can_be_started(
    start_up, monkeypatch
):
    def fail(*_):
        raise ValueError("no number in the name of a segment")

    watched, _ = start_up()
    with monkeypatch.context() as broken:
        broken.setattr(HandedSegments, "hand_over", fail)
        with pytest.raises(HostLost, match="ValueError: no number"):
            watched.ask(Make())
    assert watched.ask(Make())

    def no_thread(link):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as exhausted:
        exhausted.setattr(Host, "start", no_thread)
        asked = [watched.begin(Work()), watched.client.submit(Show())]
        os.kill(watched.client.host_pid, signal.SIGKILL)
        for future in asked:
            with pytest.raises(HostLost, match="The next request starts a new one"):
                future.result(PATIENCE_S)
        with pytest.raises(HostLost, match="no more threads or processes can be started"):
            watched.ask(Make())
    assert watched.ask(Make())


def test_that_an_error_comes_back_as_it_was():
    refusal = Refusal("b", "c", nearest_block=Block(8, 4))
    for error in (VerificationFailed("a", "b", "c"), UnsupportedVariant("a", refusal)):
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), back.args) == (type(error), error.args)
        assert getattr(back, "nearest_block", None) == getattr(error, "nearest_block", None)


def fail(*_):
    raise ValueError("a callback that fails")


def test_that_a_process_that_cannot_be_started_is_reported(start, monkeypatch, caplog):
    def no_memory(*_, **__):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("engine.host.link.subprocess.Popen", no_memory)
    with pytest.raises(HostLost, match=r"its connection failed \(OSError: .*Cannot allocate memory"):
        start().ask(Make())
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


def test_that_a_message_that_cannot_be_read_ends_the_host(start, monkeypatch):
    monkeypatch.setattr(link, "FAILED_STARTS_ALLOWED", 1)
    with pytest.raises(HostLost, match=r"its connection failed \(ZeroDivisionError"):
        start(bare_hosts.send_what_cannot_be_read).ask(Make())


def test_that_callbacks_that_fail_harm_no_request(start, caplog, monkeypatch):
    heard = []

    def note_and_fail(event):
        heard.append(event)
        fail()

    monkeypatch.setattr(link, "serve", faulty_hosts.light)
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
    monkeypatch.setattr(link, "serve", bare_hosts.say_nothing)
    given_up, kills = threading.Event(), []
    ends = []

    class Unkillable(Host):
        def kill(self, reason):
            kills.append(reason)
            given_up.set()

    host = Unkillable(HostOptions(), lambda host, message: None, lambda host, reason: ends.append(reason))
    host.deadline = 0.0
    host.start()
    assert given_up.wait(PATIENCE_S)
    # It reads its deadline, which has passed, again.
    host._wake_sender.send(None)
    assert host.pid is not None
    os.kill(host.pid, signal.SIGTERM)
    assert host.join(PATIENCE_S)
    assert len(kills) == 1
    assert ends == ["it crashed (SIGTERM)"]
