"""Engine clients with real processes; at its end each has left no process and no shared memory."""

import threading
from pathlib import Path

import pytest

from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from engine.host.shared import left_by
from tests.engine.host import faulty_hosts

SHARED_MEMORY = Path("/dev/shm")
PATIENCE_S = 60.0


class Watched:
    """An engine client that records the events of its hosts."""

    def __init__(self):
        self.hosts = []
        self.lost = []
        self._up = threading.Semaphore(0)
        self._down = threading.Semaphore(0)
        self.client = EngineClient(on_ready=self._note_ready, on_lost=self._note_lost)
        self.client.start()

    def _note_ready(self, ready):
        pid = self.client.host_pid
        assert pid is not None
        self.hosts.append(pid)
        self._up.release()

    def _note_lost(self, error):
        self.lost.append(error)
        self._down.release()

    def wait_until_lost(self):
        """Wait until the next host has ended by itself."""
        assert self._down.acquire(timeout=PATIENCE_S)

    def wait_until_up(self):
        """Wait for the next host that is up; return its process id."""
        assert self._up.acquire(timeout=PATIENCE_S)
        return self.hosts[-1]

    def ask(self, request):
        """Return the answer of a request."""
        return self.client.submit(request).result(PATIENCE_S)

    def begin(self, request, *stages):
        """Return a request that has begun, or has come to one of these stages."""
        begun = threading.Event()

        def note(step):
            if not stages or step.stage.startswith(stages):
                begun.set()

        future = self.client.submit(request, note)
        assert begun.wait(PATIENCE_S)
        return future

    def open_sample(self, sample="camera"):
        """Open a sample picture."""
        return self.ask(OpenPicture(sample=sample))

    def end(self):
        """Shut down; fail if a process or a segment of shared memory is left."""
        self.client.shutdown()
        assert [pid for pid in self.hosts if Path(f"/proc/{pid}").exists()] == []
        assert shared_memory_of(self.client) == []


def shared_memory_of(client):
    """Return the names of the segments that a client's hosts made and that still exist."""
    return left_by(client.segment_prefix, 0) if SHARED_MEMORY.is_dir() else []


@pytest.fixture
def start(monkeypatch):
    """Start clients whose hosts a test may harm; these, and later hosts, begin with that function."""
    started = []

    def start(serve=faulty_hosts.light):
        monkeypatch.setattr("engine.host.link.serve", serve)
        started.append(Watched())
        return started[-1]

    yield start
    for watched in started:
        watched.end()


@pytest.fixture
def start_up(start):
    """Start a client as `start` does, and wait for its host; return both, the host as its process id."""

    def start_and_wait(*serve):
        watched = start(*serve)
        return watched, watched.wait_until_up()

    return start_and_wait


@pytest.fixture(scope="session")
def calm():
    """One client with the real host for all tests that do it no harm."""
    watched = Watched()
    watched.wait_until_up()
    yield watched
    watched.end()
