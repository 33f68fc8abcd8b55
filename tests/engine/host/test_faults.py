"""What happens to a host, and that the client, the other requests and the next run survive it."""

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from engine.errors import Cancelled, DeviceFault, HostLost
from engine.host import client as client_module
from engine.host import faults, pending
from engine.host.messages import Progress
from engine.host.protocol import Filtered, FilterJob, PictureHandle, Preview, Run
from engine.mask.mask import Mask
from tests.engine.host import faulty_hosts
from tests.engine.host.conftest import PATIENCE_S, Watched

Start = Callable[[], Watched]

# Three times what is promised: these tests share two cores with whatever else runs.
NOTICED_WITHIN_S = 3 * 0.5
REPLACED_WITHIN_S = 3 * 1.5

LARGEST = Mask([[1.0] * 63] * 63)
# A sample of it takes 70 ms: a run of the most samples that are taken lasts 14 s.
LONG = Mask([[1.0] * 9] * 9)


def job_of(picture: PictureHandle, mask: Mask | None = None) -> FilterJob:
    return FilterJob(picture=picture, mask=mask or Mask([[1, 2, 1]]), variant="cpu-serial", device="cpu")


class LongRun:
    """A run that samples for long, caught in the middle of it."""

    def __init__(self, watched: Watched, picture: PictureHandle) -> None:
        self._sampling = threading.Event()
        self.future = watched.client.submit(Run(job_of(picture, LONG), 300.0), self._note)
        self.wait_for_a_sample()

    def wait_for_a_sample(self) -> None:
        """Wait until the next sample begins."""
        self._sampling.clear()
        assert self._sampling.wait(PATIENCE_S)

    def _note(self, step: Progress) -> None:
        if step.stage.startswith("sampling"):
            self._sampling.set()


def runs_again(watched: Watched, picture: PictureHandle) -> bool:
    reply: Filtered = watched.client.submit(Run(job_of(picture), 0.01)).result(PATIENCE_S)
    return reply.result is not None and reply.result.kernel_ms is not None


def test_that_a_killed_host_is_noticed_and_replaced_and_the_next_run_succeeds(start_client: Start) -> None:
    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample()
    run = LongRun(watched, picture)
    begin = time.monotonic()
    os.kill(first, signal.SIGKILL)
    with pytest.raises(HostLost, match=r"The engine's process ended: it was killed \(SIGKILL\).*run again"):
        run.future.result(NOTICED_WITHIN_S)
    assert watched.wait_until_up() != first
    assert time.monotonic() - begin < REPLACED_WITHIN_S
    assert [str(lost) for lost in watched.lost] == [str(run.future.exception())]
    assert runs_again(watched, picture)


def test_that_requests_behind_the_fatal_one_go_to_the_successor(start_client: Start) -> None:
    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample()
    run = LongRun(watched, picture)
    behind = [watched.client.submit(Run(job_of(picture), 0.01)) for _ in range(2)]
    previews = [watched.client.submit(Preview(job_of(picture))) for _ in range(2)]
    os.kill(first, signal.SIGKILL)
    with pytest.raises(HostLost):
        run.future.result(PATIENCE_S)
    assert all(future.result(PATIENCE_S).values is not None for future in (*behind, *previews))


def test_that_after_three_faults_only_the_cpu_is_used_until_asked_otherwise(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.serve_with_a_gpu)
    watched = start_client()
    pid = watched.wait_until_up()
    for fault in range(3):
        assert watched.client.use_cuda
        assert all("only the CPU" not in str(lost) for lost in watched.lost), fault
        os.kill(pid, signal.SIGKILL)
        pid = watched.wait_until_up()
    assert not watched.client.use_cuda
    assert "After three faults in ten minutes only the CPU is used" in str(watched.lost[-1])
    watched.client.try_cuda_again()
    assert watched.wait_until_up() != pid
    assert watched.client.use_cuda
    assert len(watched.lost) == 3


def test_that_without_a_gpu_no_fault_gives_it_up_or_speaks_of_it(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.serve_without_a_gpu)
    watched = start_client()
    for _ in range(3):
        os.kill(watched.wait_until_up(), signal.SIGKILL)
    watched.wait_until_up()
    assert watched.client.use_cuda
    assert [str(lost) for lost in watched.lost if "GPU" in str(lost)] == []


def test_that_old_faults_are_forgotten(start_client: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.serve_with_a_gpu)
    monkeypatch.setattr(faults, "FAULT_WINDOW_S", 0.0)
    watched = start_client()
    for _ in range(3):
        os.kill(watched.wait_until_up(), signal.SIGKILL)
    watched.wait_until_up()
    assert watched.client.use_cuda


def test_that_a_host_that_stops_answering_in_a_run_is_replaced(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample()
    run = LongRun(watched, picture)
    monkeypatch.setattr(pending, "SHORTEST_DEADLINE_S", 0.5)
    monkeypatch.setattr(pending, "DEADLINE_FACTOR", 1.0)
    # The first of these may have been on its way already; the second one begins with the deadlines above.
    run.wait_for_a_sample()
    run.wait_for_a_sample()
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(HostLost, match="it did not answer for more than ten times the time"):
        run.future.result(PATIENCE_S)
    assert watched.wait_until_up() != first


def test_that_an_idle_host_that_never_takes_a_request_up_is_replaced_and_the_request_is_done(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample()
    monkeypatch.setattr(pending, "SHORTEST_DEADLINE_S", 0.5)
    os.kill(first, signal.SIGSTOP)
    asked = watched.client.submit(Preview(job_of(picture)))
    watched.wait_until_lost()
    monkeypatch.setattr(pending, "SHORTEST_DEADLINE_S", 20.0)
    assert watched.wait_until_up() != first
    assert asked.result(PATIENCE_S).values is not None


def test_that_nobody_who_asks_waits_for_a_host_that_does_not_read(start_client: Start) -> None:
    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample()
    os.kill(first, signal.SIGSTOP)
    begin = time.monotonic()
    # 64 masks of 32 KB are more than a pipe holds.
    asked = [watched.client.submit(Run(job_of(picture, LARGEST))) for _ in range(64)]
    assert time.monotonic() - begin < 1.0
    watched.client.shutdown()
    for future in asked:
        with pytest.raises(Cancelled):
            future.result(0)


def test_that_a_request_that_no_host_survives_is_not_tried_for_ever(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.stick_in_previews)
    watched = start_client()
    watched.wait_until_up()
    picture = watched.open_sample()
    monkeypatch.setattr(pending, "SHORTEST_DEADLINE_S", 0.3)
    with pytest.raises(HostLost, match="it did not answer"):
        watched.client.submit(Preview(job_of(picture))).result(PATIENCE_S)
    assert len(watched.lost) == 2


def test_that_a_fault_of_the_device_is_told_and_the_host_replaced(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.lose_the_device)
    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample()
    monkeypatch.undo()
    with pytest.raises(
        DeviceFault, match=r"The GPU failed while running the kernel: \[700\] illegal address"
    ):
        watched.client.submit(Run(job_of(picture))).result(PATIENCE_S)
    assert watched.wait_until_up() != first
    assert "illegal address" in str(watched.lost[0])
    assert runs_again(watched, picture)


def test_that_a_host_that_never_comes_up_is_not_started_for_ever(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.exit_at_once)
    watched = start_client()
    with pytest.raises(HostLost, match="it ended with exit code 3"):
        watched.open_sample()
    # With CUDA first, then without.
    most = 2 * faults.FAILED_STARTS_ALLOWED
    for _ in range(most):
        watched.wait_until_lost()
    assert watched.client.host_pid is None
    assert ["A new one is being started" in str(lost) for lost in watched.lost] == [True] * (most - 1) + [
        False
    ]
    assert "The next request starts a new one" in str(watched.lost[-1])
    # Whoever asks again gets a new try.
    monkeypatch.undo()
    assert watched.open_sample().width > 0
    assert len(watched.lost) == most


def test_that_a_host_that_ends_while_it_looks_for_a_gpu_is_followed_by_one_on_the_cpu(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.exit_unless_on_the_cpu)
    watched = start_client()
    assert watched.open_sample().width > 0
    assert not watched.client.use_cuda
    assert len(watched.lost) == faults.FAULTS_ALLOWED
    assert "only the CPU is used" in str(watched.lost[-1])


def test_that_the_gpu_can_be_tried_again_when_no_host_is_left(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "FAILED_STARTS_ALLOWED", 1)
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.exit_at_once)
    watched = start_client()
    watched.wait_until_lost()
    assert watched.client.host_pid is None
    monkeypatch.undo()
    watched.client.try_cuda_again()
    assert watched.wait_until_up() == watched.client.host_pid
    watched.end()
    watched.client.try_cuda_again()
    assert watched.client.host_pid is None


def test_that_the_end_of_the_simulator_is_told_to_its_requests_alone(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.exit_as_simulator)
    watched = start_client()
    picture = watched.open_sample()
    job = FilterJob(picture=picture, mask=Mask([[1]]), variant="naive", device="simulator")
    with pytest.raises(
        HostLost,
        match=r"^The simulator's process ended: it ended with exit code 3\. The next request starts a new one\.$",
    ):
        watched.client.submit(Preview(job)).result(PATIENCE_S)
    assert watched.lost == []
    assert watched.client.use_cuda
    assert runs_again(watched, picture)


def test_that_a_host_that_says_nothing_is_given_up(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.say_nothing)
    monkeypatch.setattr(pending, "START_DEADLINE_S", 0.2)
    watched = start_client()
    with pytest.raises(HostLost, match="it did not answer"):
        watched.open_sample()


def test_that_a_run_that_cannot_stop_in_time_is_ended_with_its_host(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "GRACE_S", 0.05)
    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample("astronaut")
    begun = threading.Event()
    # 3 G multiply-adds on one thread take seconds, and no launch can be interrupted.
    slow = watched.client.submit(Preview(job_of(picture, LARGEST)), lambda step: begun.set())
    assert begun.wait(PATIENCE_S)
    watched.client.cancel(slow)
    with pytest.raises(Cancelled, match=r"The run was stopped: it could not stop within 0\.05 s"):
        slow.result(PATIENCE_S)
    assert watched.wait_until_up() != first
    assert watched.lost == []
    assert watched.client.use_cuda


def test_that_shutting_down_answers_everything_and_leaves_nothing(start_client: Start) -> None:
    watched = start_client()
    watched.wait_until_up()
    picture = watched.open_sample()
    run = LongRun(watched, picture)
    waiting = watched.client.submit(Run(job_of(picture)))
    watched.end()
    for future in (run.future, waiting, watched.client.submit(Preview(job_of(picture)))):
        with pytest.raises(Cancelled):
            future.result(0)
