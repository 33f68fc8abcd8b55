"""The memory of a batch: pictures wait for room."""

import threading
from contextlib import ExitStack

from engine.flow.stages import PictureMemory


def test_that_a_picture_waits_until_there_is_room(monkeypatch):
    room, asked, entered = PictureMemory(100), threading.Event(), threading.Event()
    first, second, third = ExitStack(), ExitStack(), ExitStack()
    room.enter(1000, first)
    wait_for, may_enter = room._changed.wait_for, []

    def watched(has_room):
        may_enter.append(has_room())
        asked.set()
        return wait_for(has_room)

    monkeypatch.setattr(room._changed, "wait_for", watched)

    def enter():
        room.enter(60, second)
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
    room.enter(40, third)
    assert may_enter == [False, True]
    third.close()
    second.close()
    assert room._lent_bytes == 0
