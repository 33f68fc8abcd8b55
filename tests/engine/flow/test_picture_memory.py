"""The memory of a batch: pictures wait for room."""

import threading

from engine.flow.picture_memory import Loan, PictureMemory


def test_that_a_picture_waits_until_there_is_room(monkeypatch):
    room, asked, entered = PictureMemory(100), threading.Event(), threading.Event()
    first, second = Loan(room), Loan(room)
    first.enter(1000)
    wait_for, may_enter = room._changed.wait_for, []

    def watched(has_room):
        may_enter.append(has_room())
        asked.set()
        return wait_for(has_room)

    monkeypatch.setattr(room._changed, "wait_for", watched)

    def enter():
        second.enter(60)
        entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    assert asked.wait(60)
    # It can only be let in by what follows.
    assert may_enter == [False]
    assert not entered.is_set()
    first.give_back()
    thread.join(60)
    assert entered.is_set()
    third = Loan(room)
    third.enter(40)
    assert may_enter == [False, True]
    third.give_back()
    second.give_back()
    assert room._lent_bytes == 0
