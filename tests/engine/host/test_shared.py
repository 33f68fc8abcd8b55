"""Segments of shared memory in the process that makes them: names and unused ones."""

import re
import threading
from multiprocessing import Pipe
from pathlib import Path

import pytest

from engine.host import server, shared
from engine.host.shared import new_prefix

MEGABYTE = 1 << 20
FOLDER = Path("/dev/shm")
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the system does not list its shared memory")


@pytest.fixture(autouse=True)
def prefix(monkeypatch):
    """Names of one test's own, and no unused segments of other tests."""
    own = new_prefix()
    monkeypatch.setattr(shared, "_prefix", own)
    shared._unused.trim(0)
    yield own
    shared._unused.trim(0)
    shared.unlink(*shared.left_by(own, 0))


def make(megabytes):
    (array,) = shared.create(((int(megabytes * MEGABYTE),), "uint8"))
    return array.name


def test_that_a_view_keeps_its_memory_after_its_segment_was_given_back():
    """A picture that a view has not let go of, because of an error, is painted again."""
    (place,) = shared.create(((60, 100), "uint16"))
    whole = shared.attach(place)
    whole[:] = 7
    part = whole[20:].data
    shared.unlink(place.name)
    del whole
    assert place.name in Path("/proc/self/maps").read_text()
    assert part[39, 99] == 7


def test_that_a_released_segment_serves_the_next_result_and_an_idle_process_keeps_none(prefix):
    used, result, other = make(4), make(0.25), make(1)
    shared.recycle(result, other)
    assert make(1) == other
    shared.recycle(other)
    assert set(shared.left_by(prefix, 0)) == {used, result, other}
    shared.trim_unused()
    assert shared.left_by(prefix, 0) == [used]


def test_that_unused_segments_go_before_memory_is_refused(prefix, monkeypatch):
    held = 3 * MEGABYTE

    def free_bytes():
        return held - sum((FOLDER / name).stat().st_size for name in shared.left_by(prefix, 0))

    monkeypatch.setattr(shared, "_free_bytes", free_bytes)
    used, unused = make(1), make(1)
    shared.recycle(unused)
    assert set(shared.left_by(prefix, 0)) == {used, unused}
    larger = make(2)
    assert set(shared.left_by(prefix, 0)) == {used, larger}
    with pytest.raises(
        shared.NotEnoughSharedMemory, match="1,048,576 bytes of shared memory: the system has 0"
    ):
        make(1)


def test_that_unused_segments_of_large_results_are_dropped_at_once(prefix, monkeypatch):
    monkeypatch.setattr(shared, "_BUSY_UNUSED_BYTES", 2 * MEGABYTE)
    large = [make(8), make(2), make(1)]
    small = make(0.5)
    shared.recycle(large[1])
    assert set(shared.left_by(prefix, 0)) == {*large, small}
    shared.recycle(large[2], large[0])
    # A small picture follows a large one: of the large one nothing stays.
    assert shared.left_by(prefix, 0) == [small]


def test_that_a_host_trims_what_is_unused_when_it_has_nothing_to_do(monkeypatch):
    trimmed = threading.Event()
    monkeypatch.setattr(shared, "trim_unused", trimmed.set)
    monkeypatch.setattr(server, "_IDLE_SECONDS", 0.01)
    worker = server.Worker(Pipe()[1])
    waiting = threading.Thread(target=worker._next)
    waiting.start()
    try:
        assert trimmed.wait(60)
    finally:
        with worker._changed:
            worker._stopping = True
            worker._changed.notify()
        waiting.join(60)


def test_that_a_name_that_is_taken_is_skipped(prefix):
    number = int(make(1).rpartition("-")[2])
    taken = f"{prefix}-{number + 1}"
    (FOLDER / taken).touch()
    assert make(1) == f"{prefix}-{number + 2}"
    assert (FOLDER / taken).exists()
    shared.unlink(taken, f"{prefix}-{number + 9}")
    assert taken not in shared.left_by(prefix, 0)


def test_that_no_two_clients_have_names_in_common():
    prefixes = {new_prefix() for _ in range(100)}
    assert len(prefixes) == 100
    longest = f"/{prefixes.pop()}-9999-999999"
    assert re.fullmatch(r"/haloscope-[0-9a-f]{8}-9999-999999", longest)
    assert len(longest) == 31
