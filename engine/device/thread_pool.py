"""The threads that help a launch: one per core, asleep in compiled code until their work queue has a task.

A thread that is done looks for another task for a moment before it sleeps: being woken takes 25 to 60 us.

A caller queues its task, a function's address and the address of its arguments; wakes the threads; and in the
end takes the task back where it has not begun and waits for the others. None of it needs the GIL: with Python
on each thread a launch began 27 us later for every further thread, the sixteenth after half a millisecond.

Compiled code and Python find what a launch needs in a task descriptor, a flat int64 array:

    TAKEN                   bands that are taken; counted by all workers
    STARTED                 workers that have begun
    WAKE, FINISH            entry points that wake other threads and that wait; WAKE is 0 for a single worker
    SELF                    the address of the descriptor: what these two are called with
    FUNCTION, ARGUMENTS     what workers call: an entry point and its slots (`machine_code.Call`)
    QUEUES ... CALLER_LOCK  what WAKE and FINISH need

Each thread has a work queue of one task, QUEUE_ELEMENTS int64. Its STATE is 0 where it is empty, else the
number of a launch plus one of the stages below. Stages change atomically, so a task is begun or taken back,
never both.
"""

import contextlib
import ctypes
import os
import threading
from collections import defaultdict
from functools import cache

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.process import OncePerProcess, cores, launch_cores

# In cache lines of their own: all workers write the first two.
TAKEN, STARTED, WAKE = 0, 8, 16
FINISH, SELF, FUNCTION, ARGUMENTS = range(WAKE + 1, WAKE + 5)
QUEUES, QUEUES_END, WANTED, CALLER_CORE, CALLER_LOCK = range(WAKE + 5, WAKE + 10)
TASK_ELEMENTS = 32

# Elements of a work queue, one cache line: its state, the task's call, the lock that its thread sleeps on,
# that on which the caller may sleep until the task is done, and the core of the thread (-1: pinned to none).
STATE, ENTRY, ENTRY_ARGUMENTS, WAKE_LOCK, DONE_LOCK, CORE = range(6)
QUEUE_ELEMENTS, QUEUE_BYTES = 8, 64
# Stages of a task: being written, may be begun or taken back, begun, begun and the caller sleeps meanwhile.
WRITTEN, QUEUED, BEGUN, AWAITED = range(4)
STAGE, STAGE_BITS = 3, 2


TASK = object()
"""Stands for the task descriptor among the arguments of a function."""

_CODE = "engine.device.thread_code"
_SERVE, _WAKE, _WAIT = (
    MachineFunction(_CODE, name, error_model="numpy") for name in ("serve", "wake", "wait")
)


@cache
def compiled() -> tuple[int, int]:
    """Return the entry points that wake threads and that wait; the threads' own code is compiled too."""
    _SERVE.address(0)
    return _WAKE.address(0), _WAIT.address(0)


def _locked() -> int:
    """Return a new lock, locked; it lives as long as the process."""
    ctypes.pythonapi.PyThread_allocate_lock.restype = ctypes.c_void_p
    lock = ctypes.pythonapi.PyThread_allocate_lock()
    if not lock:
        raise MemoryError("The system has no more locks for threads")
    ctypes.pythonapi.PyThread_acquire_lock(ctypes.c_void_p(lock), 1)
    return int(lock)


@OncePerProcess
def work_queues() -> np.ndarray:
    """Start a thread per core, pinned to it; return their work queues: (threads, QUEUE_ELEMENTS) int64.

    Threads that are woken together often begin on one core, and the scheduler takes 4 ms to part them: not
    pinned, launches took up to twice as long. The thread of the caller's own core stays asleep.
    """
    # A process with only a part of the cores' time shares them: only the scheduler knows which are free.
    is_held = hasattr(os, "sched_setaffinity") and cores() == len(os.sched_getaffinity(0))
    free = sorted(os.sched_getaffinity(0)) if is_held else [-1] * (cores() - 1)
    compiled()
    queues = np.zeros((len(free), QUEUE_ELEMENTS), np.int64)
    for queue, core in zip(queues, free, strict=True):
        queue[WAKE_LOCK], queue[CORE] = _locked(), core
        # Where the system has no more threads, what is queued here is never begun.
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=_help, args=(queue,), name="cpu-band", daemon=True).start()
    return queues


def _help(queue: np.ndarray) -> None:
    """Serve a work queue, which stays in memory while this thread lives, at the interpreter's exit too."""
    if queue[CORE] >= 0:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {int(queue[CORE])})
    _SERVE(queue.ctypes.data)


class SharedCall:
    """A call that several threads make at once, until its function has no more work for them.

    `arguments` are those of the function, with TASK where the descriptor goes; `workers` threads take part at
    most, the caller's own among them. One launch at a time. All code is compiled now, not within a launch.
    """

    def __init__(self, function: MachineFunction, arguments: tuple[object, ...], workers: int) -> None:
        self.task = task = np.zeros(TASK_ELEMENTS, np.int64)
        self.call = function.call(*(task if value is TASK else value for value in arguments))
        self._workers = workers
        if workers > 1:
            compiled()
        self._queues: np.ndarray | None = None
        task[WANTED] = workers - 1
        task[SELF] = task.ctypes.data
        task[FUNCTION], task[ARGUMENTS] = self.call.entry, self.call.slots

    def launch(self, source: int, target: int) -> None:
        """Call the function with its first two arguments; return when no thread is in it any more."""
        task, call = self.task, self.call
        task[TAKEN] = task[STARTED] = 0
        call.put(0, source)
        call.put(1, target)
        if self._workers == 1:
            call()
            return
        queues = work_queues()
        if queues is not self._queues:
            task[WAKE], task[FINISH] = compiled()
            task[QUEUES], task[QUEUES_END] = queues.ctypes.data, queues.ctypes.data + queues.nbytes
            self._queues = queues
        lock = _locks.pop() if _locks else _locked()
        task[CALLER_LOCK], task[CALLER_CORE] = lock, _current_core()
        call()
        _locks.append(lock)


# Locked ones, which no thread waits for: each belongs to one launch at a time.
_locks: list[int] = []


# None on macOS and Windows. Through `pythonapi` it keeps the GIL, which a busy thread would hold for 5 ms.
_SCHED_GETCPU = getattr(ctypes.pythonapi, "sched_getcpu", None)


def _current_core() -> int:
    return -2 if _SCHED_GETCPU is None else int(_SCHED_GETCPU())


# Copies of the host's memory: one core reads and writes 10 GB/s, eight 50, and more the same (H100 machine).
PIECE_BYTES, MOST_WORKERS = 128 << 10, 8

_COPY = MachineFunction("engine.device.thread_code", "copy_pieces", error_model="numpy")
# By the number of threads that take part; each is used by one thread at a time.
_calls: defaultdict[int, list[SharedCall]] = defaultdict(list)


def copy_array(source: np.ndarray, target: np.ndarray) -> None:
    """Copy an array into another one of its shape and type."""
    if source.flags.c_contiguous and target.flags.c_contiguous:
        copy_bytes(source.ctypes.data, target.ctypes.data, source.nbytes)
    else:
        np.copyto(target, source)


def copy_bytes(source: int, target: int, size: int) -> None:
    """Copy so many bytes from one address to another, which do not overlap."""
    workers = max(1, min(launch_cores(), MOST_WORKERS, size // PIECE_BYTES))
    try:
        call = _calls[workers].pop()
    except IndexError:
        call = SharedCall(_COPY, (0, 0, 0, PIECE_BYTES, TASK), workers)
    call.call.put(2, size)
    call.launch(source, target)
    _calls[workers].append(call)
