"""The memory of a batch: blocks are used again, and pictures wait for room."""

import threading

import numpy as np

from engine.flow.picture_memory import Loan, PictureMemory
from engine.image.form import Form

FORM = Form(height=4, width=5, channels=3, has_alpha=True, dtype=np.dtype(np.uint16))


def memory(most=None, kept=1 << 20):
    return PictureMemory(most, kept)


def test_that_a_picture_and_its_result_have_arrays_of_their_own():
    loan = Loan(memory())
    pixels, alpha = loan.picture(FORM, 0)
    result = loan.result(pixels, np.float32)
    assert (pixels.shape, pixels.dtype) == ((4, 5, 3), np.uint16)
    assert (alpha.shape, alpha.dtype) == ((4, 5), np.uint16)
    assert (result.shape, result.dtype) == ((4, 5, 3), np.float32)
    assert result.flags.c_contiguous
    assert result.flags.aligned
    pixels[:], alpha[:], result[:] = 1, 2, 3
    assert (pixels.min(), pixels.max(), alpha.min(), alpha.max()) == (1, 1, 2, 2)


def test_that_no_more_is_kept_than_allowed():
    kept = memory(kept=100)
    kept.keep([np.empty(80, np.uint8), np.empty(40, np.uint8), np.empty(20, np.uint8)])
    assert [kept.take(size).nbytes for size in (15, 35)] == [20, 40]
    assert kept.take(75).nbytes == 75


def test_that_a_picture_waits_until_there_is_room(monkeypatch):
    room, asked, entered = memory(most=100), threading.Event(), threading.Event()
    first, second = Loan(room), Loan(room)
    first.picture(FORM, 1000)
    wait_for, may_enter = room._changed.wait_for, []

    def watched(has_room):
        may_enter.append(has_room())
        asked.set()
        return wait_for(has_room)

    monkeypatch.setattr(room._changed, "wait_for", watched)

    def enter():
        second.picture(FORM, 60)
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
    third.picture(FORM, 40)
    assert may_enter == [False, True]
    third.give_back()
    second.give_back()
    assert room._lent_bytes == 0
