"""Work in three stages: taken in order, dropped once where it is not taken, whatever fails on the way.

Pictures wait for memory.
"""

import threading
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from engine.device.host_memory import PictureMemory
from engine.errors import DeviceFault, EngineError, OutOfDeviceMemory
from engine.flow.chunks import Flow

COUNT = 12
LOST = DeviceFault("cuda:0", "illegal address", "Start again.")


@dataclass(eq=False)
class Work:
    picture: int
    events: list


@dataclass(eq=False)
class FakeAsked:
    picture: int


class FakeStream:
    """Finishes the newest of three first; `failing` is raised when that picture would be finished."""

    made = 0

    def __init__(self, failing=None, error=None):
        type(self).made += 1
        self._failing, self._error, self._under_way, self.is_open = failing, error, deque(), True

    @property
    def has_room(self):
        return len(self._under_way) < 3

    def send(self, asked):
        assert self.is_open
        self._under_way.append(asked)

    def wait(self):
        found = self._under_way.pop()
        if found.picture == self._failing:
            raise self._error
        return [found]

    def close(self):
        self.is_open = False


@pytest.fixture(autouse=True)
def _no_threads_left():
    before, FakeStream.made = threading.active_count(), 0
    yield
    assert threading.active_count() == before


def run(**changed):
    """Send work through the stages; return what was reported, and what became of each."""
    works, reported = [Work(number, []) for number in range(COUNT)], []
    how = {
        "ready": lambda work: FakeAsked(work.picture),
        "take": lambda work: work.events.append("taken"),
        "dropped": lambda work: work.events.append("dropped"),
        "stream": FakeStream,
        "threads": 2,
        "takers": 1,
        "most": 6,
    } | changed
    error = None
    try:
        Flow(**how).run(iter(works), lambda work: reported.append(work.picture))
    except EngineError as raised:
        error = raised
    return works, reported, error


def test_that_all_is_taken_and_reported_in_order_and_work_that_needs_no_stream_makes_none():
    taken = []
    _, reported, error = run(take=lambda work: taken.append(work.picture), threads=1)
    assert (taken, reported, error) == (list(range(COUNT)), list(range(COUNT)), None)
    for how in ({"takers": 3}, {"ready": lambda work: None}):
        works, reported, error = run(**how)
        assert all(work.events == ["taken"] for work in works)
        assert (reported, error) == (list(range(COUNT)), None)
    assert FakeStream.made == 2


def test_that_a_picture_that_breaks_the_stream_off_fails_alone_and_the_others_go_on():
    full, failures = OutOfDeviceMemory("it", "is full", ""), []
    streams = [FakeStream(5, full)]

    def alone(asked):
        if asked.picture == 5:
            raise full

    def failed(work, error):
        failures.append((work.picture, error))
        return True

    works, reported, error = run(
        stream=lambda: streams.pop() if streams else FakeStream(), alone=alone, failed=failed
    )
    assert failures == [(5, full)]
    assert [work.picture for work in works if work.events != ["taken"]] == [5]
    assert (works[5].events, reported, error) == (["dropped"], list(range(COUNT)), None)


@pytest.mark.parametrize("takers", [1, 3])
def test_that_a_lost_device_is_raised_when_what_was_computed_is_taken(takers):
    works, reported, error = run(
        stream=lambda: FakeStream(4, LOST), alone=lambda asked: None, takers=takers, threads=1
    )
    assert error is LOST
    assert works[4].events == ["dropped"]
    begun = [work for work in works if work.events]
    assert all(work.events in (["taken"], ["dropped"]) for work in begun)
    assert reported == sorted(work.picture for work in works if work.events == ["taken"])


@pytest.mark.parametrize("stage", ["ready", "take"])
def test_that_an_error_of_a_thread_is_raised_after_those_before_it_are_reported(stage):
    wrong = EngineError("wrong")

    def act(work):
        if work.picture == 6:
            raise wrong
        return FakeAsked(work.picture)

    _, reported, error = run(**{stage: act}, threads=1)
    assert error is wrong
    assert set(range(6)) <= set(reported)
    assert 6 not in reported


def test_that_a_picture_waits_until_there_is_room(monkeypatch):
    memory, asked, entered = PictureMemory(100), threading.Event(), threading.Event()
    first, second, third = ExitStack(), ExitStack(), ExitStack()
    memory.enter(1000, first)
    wait_for, may_enter = memory._changed.wait_for, []

    def watched(has_room):
        may_enter.append(has_room())
        asked.set()
        return wait_for(has_room)

    monkeypatch.setattr(memory._changed, "wait_for", watched)

    def enter():
        memory.enter(60, second)
        entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    assert asked.wait(60)
    # It can only be let in by what follows.
    assert may_enter == [False]
    assert not entered.is_set()
    first.close()
    thread.join(60)
    assert entered.is_set()
    memory.enter(40, third)
    assert may_enter == [False, True]
    third.close()
    second.close()
    assert memory._lent_bytes == 0
