"""What becomes of a file when the program ends while it is being saved: it is whole, or not there."""

import os
import threading
from multiprocessing import Pipe

import pytest

from engine.course import files as course_files
from engine.course.files import write_paper
from engine.course.papers import PAPERS
from engine.course.tables import counted_tables
from engine.errors import Cancelled
from engine.host import client as client_module
from engine.host.link import Host
from engine.host.request import Ready, ToHost
from engine.host.server import Worker
from engine.interrupts import undivided
from tests.engine.host import bare_hosts, faulty_hosts
from tests.engine.host.conftest import PATIENCE_S
from tests.engine.host.faulty_hosts import Write


@pytest.fixture
def kills(monkeypatch):
    """Reasons why hosts were killed."""
    reasons = []
    kill = Host.kill

    def noted(link, reason):
        if link._thread.is_alive():
            reasons.append(reason)
        kill(link, reason)

    monkeypatch.setattr(Host, "kill", noted)
    return reasons


def test_that_a_file_that_is_being_written_is_whole_when_the_program_has_ended(
    start_up, kills, tmp_path, monkeypatch
):
    os.mkfifo(tmp_path / "go-on")
    monkeypatch.setattr(client_module, "STOP_S", 0.0)
    watched, _ = start_up(faulty_hosts.write_slowly)
    watched.begin(Write(str(tmp_path / "out.png")))
    # Opening waits for the host, which is in the middle of the file then.
    gate = os.open(tmp_path / "go-on", os.O_WRONLY)
    join = Host.join

    def join_and_let_go(link, timeout_s):
        if timeout_s is None:
            os.close(gate)
        return join(link, timeout_s)

    monkeypatch.setattr(Host, "join", join_and_let_go)
    watched.client.shutdown()
    assert kills == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["go-on", "out.png"]
    assert (tmp_path / "out.png").read_bytes() == b"whole"


def test_that_a_file_that_is_only_encoded_is_given_up_at_once(start_up, kills, tmp_path, monkeypatch):
    monkeypatch.setattr(client_module, "STOP_S", PATIENCE_S)
    watched, _ = start_up()
    future = watched.begin(Write(str(tmp_path / "out.png"), ever=True))
    watched.client.shutdown()
    with pytest.raises(Cancelled):
        future.result(0)
    assert kills == []
    assert list(tmp_path.iterdir()) == []


def test_that_a_host_that_is_not_up_yet_is_not_waited_for(start, kills, monkeypatch):
    monkeypatch.setattr(client_module, "STOP_S", 10 * PATIENCE_S)
    start(bare_hosts.say_nothing).client.shutdown()
    assert kills == ["the program is closing"]


def test_that_a_host_whose_window_was_killed_finishes_its_file():
    at_work, let_go, saved = threading.Event(), threading.Event(), threading.Event()

    def save(request, report):
        at_work.set()
        assert let_go.wait(PATIENCE_S)
        saved.set()

    ours, theirs = Pipe()
    worker = Worker(theirs, save)
    thread = threading.Thread(target=worker.serve, args=(Ready((), ()),))
    thread.start()
    ours.send(ToHost(1, Write("out.png")))
    assert at_work.wait(PATIENCE_S)
    ours.close()
    with worker._changed:
        assert worker._changed.wait_for(lambda: worker._stopping, PATIENCE_S)
    let_go.set()
    thread.join(PATIENCE_S)
    theirs.close()
    assert saved.is_set()
    assert not thread.is_alive()


def test_that_the_files_of_a_paper_are_all_there_or_none_when_the_process_is_ended(tmp_path, monkeypatch):
    found = []

    def end():
        with undivided():
            found.append(sorted(path.name for path in tmp_path.iterdir()))

    ending = threading.Thread(target=end)
    write = course_files.atomic_write

    def write_and_end(path, data):
        write(path, data)
        if not ending.ident:
            ending.start()
            # Long enough for it to look at the folder, were it not held off.
            ending.join(0.05)

    monkeypatch.setattr(course_files, "atomic_write", write_and_end)
    paper = PAPERS[0]
    names = write_paper(str(tmp_path), paper, counted_tables(paper.key), ())
    ending.join(PATIENCE_S)
    assert len(names) > 1
    assert found == [sorted(names)]
