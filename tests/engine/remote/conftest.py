import os
import re
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from engine.host import shared
from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from engine.work.messages import ListRequest
from tests.engine.remote.sshd import MISSING, PATIENCE_S, Sshd


class Asking:
    """A client with a picture, and what it was told."""

    def __init__(self, remote=None, sample="astronaut"):
        self.ready, self.lost, self.lost_error = threading.Event(), threading.Event(), None
        self.client = EngineClient(
            on_ready=self._note_ready, on_lost=self._note_lost, described=ListRequest(), remote=remote
        )
        self.client.start()
        self.sample = sample

    def _note_ready(self, ready):
        self.said = ready
        self.ready.set()

    def _note_lost(self, error):
        self.lost_error = error
        self.lost.set()

    def ask(self, request, on_progress=None):
        return self.client.submit(request, on_progress).result(PATIENCE_S)

    def picture(self):
        return self.ask(OpenPicture(sample=self.sample))

    def close(self):
        self.client.shutdown()
        assert shared.left_by(self.client.segment_prefix, 0) == []


@pytest.fixture
def asking():
    made = []

    def make(remote=None, sample="astronaut"):
        made.append(Asking(remote, sample))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    if MISSING:
        words = f"no {', '.join(MISSING)}: install openssh-server and openssh-client"
        if os.environ.get("HALOSCOPE_SSH") == "1":
            pytest.fail(words)
        pytest.skip(words)
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.close()


def children_of(pid):
    """Return the processes below a process, itself included: their command lines by pid."""
    rows = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit():
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                rows.append((int(entry.name), parent, words))
    found, grown = {pid}, True
    while grown:
        new = {own for own, parent, _ in rows if parent in found} - found
        found |= new
        grown = bool(new)
    return {own: words for own, _, words in rows if own in found}


def is_alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def prefixes_of(pids):
    """Return how the names of segments begin that processes have attached; others run beside."""
    maps = [Path(f"/proc/{pid}/maps").read_text() for pid in pids]
    return {found for text in maps for found in re.findall(r"/dev/shm/(haloscope-[0-9a-f]{8})", text)}


def segments(prefixes):
    """Return all segments of shared memory whose names begin so."""
    return {name for name in os.listdir("/dev/shm") if name[:18] in prefixes}
