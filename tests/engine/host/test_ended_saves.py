"""What becomes of a file when the program ends while it is being saved: it is whole, or not there."""

import os
import threading
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path

import pytest

from engine.course import files as course_files
from engine.course.files import write_paper
from engine.course.papers import PAPERS
from engine.course.tables import counted_tables
from engine.errors import BadValue, Cancelled
from engine.files.atomic_write import undivided
from engine.host import client as client_module
from engine.host import run_jobs
from engine.host.handlers import HANDLERS
from engine.host.link import HostLink
from engine.host.messages import Progress, Report, ToHost
from engine.host.protocol import OpenPicture, PictureHandle, Saved, SaveResult, ScreenLevels
from engine.host.server import Worker
from engine.host.shared_array import SharedArray
from engine.image.open import open_image
from tests.engine.host import faulty_hosts
from tests.engine.host.conftest import PATIENCE_S, Watched

Start = Callable[[], Watched]


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Reasons why hosts were killed."""
    reasons: list[str] = []
    kill = HostLink.kill

    def noted(link: HostLink, reason: str) -> None:
        if link._thread.is_alive():
            reasons.append(reason)
        kill(link, reason)

    monkeypatch.setattr(HostLink, "kill", noted)
    return reasons


def begin_to_save(watched: Watched, path: Path) -> object:
    watched.wait_until_up()
    picture = watched.open_sample()
    begun = threading.Event()
    future = watched.client.submit(SaveResult(picture, None, str(path)), lambda step: begun.set())
    assert begun.wait(PATIENCE_S)
    return future


def test_that_a_file_that_is_being_written_is_whole_when_the_program_has_ended(
    start_client: Start, kills: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "go-on")
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.write_slowly)
    monkeypatch.setattr(client_module, "STOP_S", 0.0)
    watched = start_client()
    begin_to_save(watched, tmp_path / "out.png")
    # Opening waits for the host, which is in the middle of the file then.
    gate = os.open(tmp_path / "go-on", os.O_WRONLY)
    join = HostLink.join

    def join_and_let_go(link: HostLink, timeout_s: float | None) -> bool:
        if timeout_s is None:
            os.close(gate)
        return join(link, timeout_s)

    monkeypatch.setattr(HostLink, "join", join_and_let_go)
    watched.client.shutdown()
    assert kills == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["go-on", "out.png"]
    assert open_image(tmp_path / "out.png").pixels.shape == (512, 512)


def test_that_a_file_that_is_only_encoded_is_given_up_at_once_and_leaves_nothing(
    start_client: Start, kills: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.encode_for_ever)
    monkeypatch.setattr(client_module, "STOP_S", PATIENCE_S)
    watched = start_client()
    future = begin_to_save(watched, tmp_path / "out.png")
    watched.client.shutdown()
    with pytest.raises(Cancelled):
        future.result(0)  # type: ignore[attr-defined]
    assert kills == []
    assert list(tmp_path.iterdir()) == []


def test_that_a_host_that_is_not_up_yet_is_not_waited_for(
    start_client: Start, kills: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.say_nothing)
    monkeypatch.setattr(client_module, "STOP_S", 10 * PATIENCE_S)
    start_client().client.shutdown()
    assert kills == ["the program is closing"]


def test_that_a_host_whose_window_was_killed_finishes_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, let_go, saved = threading.Event(), threading.Event(), threading.Event()

    def save(request: SaveResult, report: Report) -> Saved:
        report(Progress("saving", 0.0, 1.0))
        at_work.set()
        assert let_go.wait(PATIENCE_S)
        saved.set()
        return Saved(request.path)

    monkeypatch.setattr(run_jobs, "ready", lambda: "ready")
    monkeypatch.setitem(HANDLERS, SaveResult, save)
    ours, theirs = Pipe()
    worker = Worker(theirs)
    thread = threading.Thread(target=worker.run)
    thread.start()
    nothing = SharedArray("none", (1, 1, 1), "uint8")
    ours.send(
        ToHost(1, SaveResult(PictureHandle(nothing, None, ScreenLevels(()), "none", "none"), None, "out.png"))
    )
    assert at_work.wait(PATIENCE_S)
    ours.close()
    with worker._changed:
        assert worker._changed.wait_for(lambda: worker._stopping, PATIENCE_S)
    let_go.set()
    thread.join(PATIENCE_S)
    theirs.close()
    assert saved.is_set()
    assert not thread.is_alive()


def test_that_the_files_of_a_paper_are_all_there_or_none_when_the_process_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[str]] = []

    def end() -> None:
        with undivided():
            found.append(sorted(path.name for path in tmp_path.iterdir()))

    ending = threading.Thread(target=end)
    write = course_files.atomic_write

    def write_and_end(path: str, data: bytes) -> None:
        write(path, data)
        if not ending.ident:
            ending.start()
            # Long enough for it to look at the folder, were it not held off.
            ending.join(0.2)

    monkeypatch.setattr(course_files, "atomic_write", write_and_end)
    paper = PAPERS[0]
    names = write_paper(str(tmp_path), paper, counted_tables(paper.key), ())
    ending.join(PATIENCE_S)
    assert len(names) > 1
    assert found == [sorted(names)]


def test_that_the_window_does_not_save_a_result_over_its_own_picture(calm: Watched, tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    opened = open_sample_file(calm, path)
    before = path.read_bytes()
    link = tmp_path / "other.png"
    link.symlink_to(path)
    for target in (path, link):
        save = SaveResult(opened, opened.pixels, str(target))
        with pytest.raises(BadValue, match="is the picture itself: its result would replace it"):
            calm.client.submit(save).result(PATIENCE_S)
    assert path.read_bytes() == before


def open_sample_file(watched: Watched, path: Path) -> PictureHandle:
    """Save a sample as a file and open that."""
    sample = watched.open_sample()
    watched.client.submit(SaveResult(sample, None, str(path))).result(PATIENCE_S)
    return watched.client.submit(OpenPicture(path=str(path))).result(PATIENCE_S)
