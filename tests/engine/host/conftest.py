"""Engine clients with their real processes; each ends with its processes and its shared memory gone."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import HostLost
from engine.host.client import EngineClient
from engine.host.messages import Ready
from engine.host.protocol import OpenPicture, PictureHandle
from engine.host.shared import left_by

SHARED_MEMORY = Path("/dev/shm")
PATIENCE_S = 30.0


class Watched:
    """An engine client that remembers what its hosts said."""

    def __init__(self) -> None:
        self.hosts: list[int] = []
        self.lost: list[HostLost] = []
        self._up = threading.Semaphore(0)
        self._down = threading.Semaphore(0)
        self.client = EngineClient(on_ready=self._note_ready, on_lost=self._note_lost)

    def _note_ready(self, ready: Ready) -> None:
        pid = self.client.host_pid
        assert pid is not None
        self.hosts.append(pid)
        self._up.release()

    def _note_lost(self, error: HostLost) -> None:
        self.lost.append(error)
        self._down.release()

    def wait_until_lost(self) -> None:
        """Wait until the next host has ended by itself."""
        assert self._down.acquire(timeout=PATIENCE_S)

    def wait_until_up(self) -> int:
        """Wait for the next host that is up; return its process id."""
        assert self._up.acquire(timeout=PATIENCE_S)
        return self.hosts[-1]

    def open_sample(self, sample: str = "camera") -> PictureHandle:
        """Open a sample picture."""
        return self.client.submit(OpenPicture(sample=sample)).result(PATIENCE_S)

    def end(self) -> None:
        """Shut down; fail if a process or a block of shared memory is left."""
        self.client.shutdown()
        assert [pid for pid in self.hosts if Path(f"/proc/{pid}").exists()] == []
        assert shared_memory_of(self.client) == []


def shared_memory_of(client: EngineClient) -> list[str]:
    """Return the names of the blocks that a client's hosts made and that still exist."""
    return left_by(client.segment_prefix, 0) if SHARED_MEMORY.is_dir() else []


@pytest.fixture
def start_client() -> Iterator[Callable[[], Watched]]:
    """Start clients that a test may treat badly."""
    started: list[Watched] = []

    def start() -> Watched:
        started.append(Watched())
        started[-1].client.start()
        return started[-1]

    yield start
    for watched in started:
        watched.end()


@pytest.fixture(scope="module")
def calm() -> Iterator[Watched]:
    """One client for all tests that do its host no harm."""
    watched = Watched()
    watched.client.start()
    watched.wait_until_up()
    yield watched
    watched.end()
