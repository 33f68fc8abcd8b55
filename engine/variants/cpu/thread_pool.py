"""The threads that help a launch: one per core, asleep in compiled code until their mailbox holds an order.

A caller posts an order, which is a function's address and the address of its arguments; wakes the thread; and
in the end takes back the orders that have not begun and waits for the others. None of it needs the GIL: with
Python on each thread a launch began 27 us later for every further thread, the sixteenth after half a
millisecond.

A mailbox is MAILBOX_ELEMENTS int64. Its STATE is 0 where it is empty, else a number of the launch plus one of
the stages below; stages change atomically, so that an order is begun or taken back, never both.
"""

import contextlib
import ctypes
import os
import threading
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types

from engine.device.core_count import cores
from engine.device.cpu_code_cache import kept_callback, kept_on_disk
from engine.variants.cpu.shared_call import (
    BOARD_ELEMENTS,
    FINISH,
    HERE,
    LEFT,
    MAILBOXES,
    PAST_MAILBOXES,
    POST,
    STARTED,
    TAKEN,
    WANTED,
    call_at,
    exchange,
    look_at,
    replace_if,
)

# Elements of a mailbox: its state, the order, the lock that the thread sleeps on, the one that the caller may
# sleep on until the order is done, and the core that the thread is pinned to (-1: none). One cache line.
STATE, FUNCTION, ARGUMENTS, WAKE, DONE, CORE = range(6)
MAILBOX_ELEMENTS = 8
MAILBOX_BYTES = 64
# Stages of an order: being written, may be begun or taken back, begun, begun and the caller sleeps until it
# is done.
WRITTEN, POSTED, BEGUN, AWAITED = range(4)
STAGE, STAGE_BITS = 3, 2
# How often the caller looks whether the others are done before it sleeps: 0.1 to 0.2 ms. Being woken takes 25
# to 60 us, of the 700 us that a small mask takes on 2048 x 2048.
LOOKS = 200_000

# The locks of Python's own threads: on every system, and asked for without the GIL.
_acquire = types.ExternalFunction("PyThread_acquire_lock", types.int32(types.int64, types.int32))
_release = types.ExternalFunction("PyThread_release_lock", types.void(types.int64))


# An address and the element after it are one operation: each operation takes 2 ms to compile.
@kept_on_disk
@njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
def serve(mailbox):
    """Do the orders of one mailbox for as long as the process lives."""
    while True:
        _acquire(look_at(mailbox, WAKE), 1)
        state = look_at(mailbox, STATE)
        # An order that has been taken back, or a later one, which wakes this thread itself.
        if state & STAGE != POSTED or not replace_if(mailbox, STATE, state, state - POSTED + BEGUN):
            continue
        call_at(look_at(mailbox, FUNCTION), look_at(mailbox, ARGUMENTS))
        done = look_at(mailbox, DONE)
        if exchange(mailbox, STATE, 0) & STAGE == AWAITED:
            _release(done)


def _post(function, arguments, board):
    """Post an order to as many free threads as are wanted, except that of the caller's own core."""
    mailbox, past, order = look_at(board, MAILBOXES), look_at(board, PAST_MAILBOXES), board << STAGE_BITS
    here, done, wanted = look_at(board, HERE), look_at(board, LEFT), look_at(board, WANTED)
    while wanted > 0 and mailbox < past:
        if look_at(mailbox, CORE) != here and replace_if(mailbox, STATE, 0, order + WRITTEN):
            exchange(mailbox, FUNCTION, function)
            exchange(mailbox, ARGUMENTS, arguments)
            exchange(mailbox, DONE, done)
            exchange(mailbox, STATE, order + POSTED)
            _release(look_at(mailbox, WAKE))
            wanted -= 1
        mailbox += MAILBOX_BYTES


def _finish(board):
    """Take back the orders of a launch that have not begun, and wait until the others are done."""
    mailbox, past, order = look_at(board, MAILBOXES), look_at(board, PAST_MAILBOXES), board << STAGE_BITS
    looks = LOOKS
    while mailbox < past:
        if not replace_if(mailbox, STATE, order + POSTED, 0):
            while looks > 0 and look_at(mailbox, STATE) == order + BEGUN:
                looks -= 1
            if replace_if(mailbox, STATE, order + BEGUN, order + AWAITED):
                _acquire(look_at(board, LEFT), 1)
        mailbox += MAILBOX_BYTES


@cache
def compiled() -> tuple[Any, Any]:
    """Return the caller's two functions, compiled like the threads' own code (0.2 s, kept on disk)."""
    serve.compile((types.int64,))
    three, one = types.void(types.int64, types.int64, types.int64), types.void(types.int64)
    return kept_callback(three, _post), kept_callback(one, _finish)


def _locked() -> int:
    """Return a new lock, locked; it lives as long as the process."""
    ctypes.pythonapi.PyThread_allocate_lock.restype = ctypes.c_void_p
    lock = ctypes.pythonapi.PyThread_allocate_lock()
    if not lock:
        raise MemoryError("The system has no more locks for threads")
    ctypes.pythonapi.PyThread_acquire_lock(ctypes.c_void_p(lock), 1)
    return int(lock)


def mailboxes() -> np.ndarray:
    """Return the mailboxes of this process's threads, which start once: (threads, MAILBOX_ELEMENTS) int64."""
    with _starting:
        return _started()


@cache
def _started() -> np.ndarray:
    """Start a thread per core, pinned to it.

    Threads that are woken together often begin on one core, and the scheduler takes 4 ms to part them: not
    pinned, launches of 1 to 4 ms took up to twice as long (2 cores). So the thread of the caller's own core
    stays asleep.
    """
    # A process with only a part of the cores' time shares them: only the scheduler knows which are free.
    is_held = hasattr(os, "sched_setaffinity") and cores() == len(os.sched_getaffinity(0))
    free = sorted(os.sched_getaffinity(0)) if is_held else [-1] * (cores() - 1)
    compiled()
    boxes = np.zeros((len(free), MAILBOX_ELEMENTS), np.int64)
    for box, core in zip(boxes, free, strict=True):
        box[WAKE], box[CORE] = _locked(), core
        # Where the system has no more threads, what is posted here is never begun.
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=_help, args=(box,), name="cpu-band", daemon=True).start()
    return boxes


def _help(box: np.ndarray) -> None:
    """Serve a mailbox, which stays in memory while this thread lives, at the interpreter's exit too."""
    if box[CORE] >= 0:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {int(box[CORE])})
    serve(box.ctypes.data)


class Boards:
    """Boards (`shared_call`), each for one launch at a time."""

    def __init__(self) -> None:
        self._kept: list[np.ndarray] = []

    def take(self, workers: int) -> np.ndarray:
        """Return a board for a launch on so many threads at most, the caller's own among them."""
        try:
            board = self._kept.pop()
        except IndexError:
            board = np.zeros(BOARD_ELEMENTS, np.int64)
        board[TAKEN] = board[STARTED] = board[POST] = 0
        if workers > 1:
            boxes = mailboxes()
            post, wait = compiled()
            if not board[LEFT]:
                board[LEFT] = _locked()
            board[POST], board[FINISH] = post.address, wait.address
            board[MAILBOXES], board[PAST_MAILBOXES] = boxes.ctypes.data, boxes.ctypes.data + boxes.nbytes
            board[WANTED], board[HERE] = workers - 1, _current_core()
        return board

    def give_back(self, board: np.ndarray) -> None:
        """Keep a board for another launch."""
        self._kept.append(board)


_starting = threading.Lock()


def _begin_anew() -> None:
    """Forget the threads, which a forked child lacks; its copy of the lock may be held by one of them."""
    global _starting
    _starting = threading.Lock()
    _started.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


# None on macOS and Windows. Called through `pythonapi` it keeps the GIL, which a busy thread would then hold
# for 5 ms.
_SCHED_GETCPU = getattr(ctypes.pythonapi, "sched_getcpu", None)


def _current_core() -> int:
    """Return the core that this thread runs on, or -2 where the system does not say."""
    return -2 if _SCHED_GETCPU is None else int(_SCHED_GETCPU())
