"""A host that ends leaves no request without an answer and no block of shared memory, whatever goes wrong behind it."""

import logging
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DeviceFault, HostLost, HostLostTwice
from engine.host.link import HostLink
from engine.host.protocol import CheckVariants, FilterJob, OpenPicture, PictureHandle, Preview, Run
from engine.host.segments import HandedSegments
from engine.mask.mask import Mask
from tests.engine.host import faulty_hosts
from tests.engine.host.conftest import PATIENCE_S, SHARED_MEMORY, Watched, shared_memory_of

Start = Callable[[], Watched]
NOTHING = Mask([[1]])
# A run of it lasts 14 s.
LONG = Mask([[1.0] * 9] * 9)
DEADLY = Mask([[1, 2]])


def job_of(picture: PictureHandle, mask: Mask = NOTHING) -> FilterJob:
    return FilterJob(picture=picture, mask=mask, variant="cpu-serial", device="cpu")


def long_run(watched: Watched, picture: PictureHandle) -> Future[Any]:
    """Return a run that has begun."""
    begun = threading.Event()
    future = watched.client.submit(Run(job_of(picture, LONG), 300.0), lambda step: begun.set())
    assert begun.wait(PATIENCE_S)
    return future


@pytest.mark.skipif(
    not SHARED_MEMORY.is_dir(), reason="an empty block can be seen only where there is a list"
)
def test_that_a_host_killed_before_its_block_has_a_size_leaves_neither_block_nor_question(
    start_client: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.die_at_an_empty_block)
    last_block = tmp_path / "the next block is the last"
    monkeypatch.setenv(faulty_hosts.LAST_BLOCK, str(last_block))
    watched = start_client()
    watched.wait_until_up()
    picture = watched.open_sample()
    for kill in range(2):
        last_block.touch()
        with pytest.raises(HostLost, match="SIGKILL"):
            watched.client.submit(OpenPicture(sample="camera")).result(PATIENCE_S)
        watched.wait_until_up()
        assert shared_memory_of(watched.client) == [picture.pixels.name], kill
    # These get their memory before they are begun, or are asked for by nobody: the successor has them.
    for request in (Run(job_of(picture), 0.01), Preview(job_of(picture))):
        last_block.touch()
        assert watched.client.submit(request).result(PATIENCE_S).values is not None
        assert not last_block.exists()
    assert len(watched.lost) == 4


def test_that_requests_are_answered_and_taken_over_whatever_cleaning_up_raises(
    start_client: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def cannot_clean(blocks: HandedSegments, maker: HostLink) -> None:
        clean(blocks, maker)
        raise ValueError("cannot mmap an empty file")

    clean = HandedSegments.maker_ended
    monkeypatch.setattr(HandedSegments, "maker_ended", cannot_clean)
    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample()
    run = long_run(watched, picture)
    behind = watched.client.submit(Preview(job_of(picture)))
    os.kill(first, signal.SIGKILL)
    with pytest.raises(HostLost):
        run.result(PATIENCE_S)
    assert behind.result(PATIENCE_S).values is not None
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_that_a_reply_that_cannot_be_entered_in_the_books_is_answered(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no number in the name of a block")

    watched = start_client()
    watched.wait_until_up()
    with monkeypatch.context() as broken:
        broken.setattr(HandedSegments, "hand_over", fail)
        with pytest.raises(HostLost, match="ValueError: no number"):
            watched.open_sample()
    assert watched.open_sample().width > 0


def test_that_requests_are_answered_when_no_successor_can_be_started(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(link: HostLink) -> None:
        raise RuntimeError("can't start new thread")

    watched = start_client()
    first = watched.wait_until_up()
    picture = watched.open_sample()
    with monkeypatch.context() as exhausted:
        exhausted.setattr(HostLink, "start", no_thread)
        asked = [long_run(watched, picture), watched.client.submit(Preview(job_of(picture)))]
        os.kill(first, signal.SIGKILL)
        for future in asked:
            with pytest.raises(HostLost, match="The next request starts a new one"):
                future.result(PATIENCE_S)
        with pytest.raises(HostLost, match="can't start new thread"):
            watched.open_sample()
    assert watched.open_sample().width > 0


def test_that_a_preview_that_ends_each_host_is_tried_twice_until_something_changes(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.end_in_previews)
    watched = start_client()
    watched.wait_until_up()
    picture = watched.open_sample()
    deadly = Preview(job_of(picture, DEADLY))
    for _ in range(5):
        with pytest.raises(
            HostLostTwice, match=r"ended twice in the same work: .*not tried again until you change"
        ):
            watched.client.submit(deadly).result(PATIENCE_S)
        # Another question about the same job does no harm, and changes nothing.
        watched.client.submit(CheckVariants(deadly.job)).result(PATIENCE_S)
    assert len(watched.lost) == 2
    assert watched.client.submit(Preview(job_of(picture))).result(PATIENCE_S).values is not None
    with pytest.raises(HostLostTwice):
        watched.client.submit(deadly).result(PATIENCE_S)
    assert len(watched.lost) == 4


def test_that_a_preview_that_loses_the_device_is_tried_twice_and_a_run_each_time_it_is_asked_for(
    start_client: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.lose_the_device)
    watched = start_client()
    watched.wait_until_up()
    picture = watched.open_sample()
    for _ in range(2):
        with pytest.raises(HostLostTwice, match="illegal address"):
            watched.client.submit(Preview(job_of(picture))).result(PATIENCE_S)
    assert len(watched.lost) == 2
    for _ in range(2):
        with pytest.raises(DeviceFault):
            watched.client.submit(Run(job_of(picture))).result(PATIENCE_S)
    watched.client.try_cuda_again()
    with pytest.raises(HostLostTwice):
        watched.client.submit(Preview(job_of(picture))).result(PATIENCE_S)
    assert len(watched.lost) > 4
