"""The threads that help a launch: one per core, asleep in compiled code until their mailbox holds an order.

A thread that is done looks for another order for a moment before it sleeps: being woken takes 25 to 60 us.

A caller posts an order, which is a function's address and the address of its arguments; wakes the thread; and
in the end takes back the orders that have not begun and waits for the others. None of it needs the GIL: with
Python on each thread a launch began 27 us later for every further thread, the sixteenth after half a
millisecond.
"""

import contextlib
import ctypes
import os
import threading
from functools import cache

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.core_count import cores
from engine.device.per_process import OncePerProcess
from engine.device.threads.board import (
    ARGUMENTS,
    BOARD_ELEMENTS,
    CORE,
    FINISH,
    FUNCTION,
    HERE,
    LEFT,
    MAILBOX_ELEMENTS,
    MAILBOXES,
    PAST_MAILBOXES,
    POST,
    SELF,
    STARTED,
    TAKEN,
    WAKE,
    WANTED,
)  # fmt: skip

# Another thread begins 20 to 50 us later; by then a core has made some 2 million multiply-adds.
LEAST_MULTIPLY_ADDS = 2_000_000

BOARD = object()
"""Stands for the board of a launch among the arguments of a function."""

_CODE = "engine.device.threads.thread_code"
_SERVE, _POST, _WAIT = (
    MachineFunction(_CODE, name, error_model="numpy") for name in ("serve", "post", "wait")
)


def workers_for(multiply_adds: int, most: int) -> int:
    """Return how many threads so much work is worth, at most `most`."""
    shares = multiply_adds // LEAST_MULTIPLY_ADDS
    # A second thread helps from one share on: 512 x 512 with 3 x 3 takes 40 % less time after another filter,
    # when the thread is awake, and 5 to 15 % less by itself.
    return max(1, min(most, 2 if shares == 1 else shares))


@cache
def compiled() -> tuple[int, int]:
    """Return the entry points by which a caller posts and waits; the threads' own code is compiled too."""
    _SERVE.address(0)
    return _POST.address(0), _WAIT.address(0)


def _locked() -> int:
    """Return a new lock, locked; it lives as long as the process."""
    ctypes.pythonapi.PyThread_allocate_lock.restype = ctypes.c_void_p
    lock = ctypes.pythonapi.PyThread_allocate_lock()
    if not lock:
        raise MemoryError("The system has no more locks for threads")
    ctypes.pythonapi.PyThread_acquire_lock(ctypes.c_void_p(lock), 1)
    return int(lock)


@OncePerProcess
def mailboxes() -> np.ndarray:
    """Start a thread per core, pinned to it; return their mailboxes: (threads, MAILBOX_ELEMENTS) int64.

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
    _SERVE(box.ctypes.data)


class SharedCall:
    """A call that several threads make at once, until its function has no more work for them.

    `arguments` are those of the function, with None where its board goes; `workers` threads take part at
    most, the caller's own among them. One launch at a time.
    """

    def __init__(self, function: MachineFunction, arguments: tuple[object, ...], workers: int) -> None:
        self.board = board = np.zeros(BOARD_ELEMENTS, np.int64)
        self.call = function.call(*(board if value is BOARD else value for value in arguments))
        self._workers = workers
        self._boxes: np.ndarray | None = None
        board[WANTED] = workers - 1
        board[SELF] = board.ctypes.data
        board[FUNCTION], board[ARGUMENTS] = self.call.entry, self.call.slots

    def launch(self, source: int, target: int) -> None:
        """Call the function with its first two arguments; return when no thread is in it any more."""
        board, call = self.board, self.call
        board[TAKEN] = board[STARTED] = 0
        call.put(0, source)
        call.put(1, target)
        if self._workers == 1:
            call()
            return
        boxes = mailboxes()
        if boxes is not self._boxes:
            board[POST], board[FINISH] = compiled()
            board[MAILBOXES], board[PAST_MAILBOXES] = boxes.ctypes.data, boxes.ctypes.data + boxes.nbytes
            self._boxes = boxes
        lock = _locks.pop() if _locks else _locked()
        board[LEFT], board[HERE] = lock, _current_core()
        call()
        _locks.append(lock)


# Locked ones, which nobody waits for: each belongs to one launch at a time.
_locks: list[int] = []


# None on macOS and Windows. Called through `pythonapi` it keeps the GIL, which a busy thread would then hold
# for 5 ms.
_SCHED_GETCPU = getattr(ctypes.pythonapi, "sched_getcpu", None)


def _current_core() -> int:
    """Return the core that this thread runs on, or -2 where the system does not say."""
    return -2 if _SCHED_GETCPU is None else int(_SCHED_GETCPU())
