"""The compiled part of this folder: serving a work queue, waking threads, waiting; copying."""

from numba import types

from engine.compiled.entry_point import entry_point
from engine.device.threads import descriptors as at
from engine.device.threads.shared_call import (
    add,
    call_at,
    exchange,
    finish,
    load_acquire,
    pause,
    replace_if,
    share,
)

# How often the caller looks whether the others are done before it sleeps: 0.1 to 0.2 ms. Being woken takes 25
# to 60 us, of the 700 us that a small mask takes on 2048 x 2048.
LOOKS = 200_000
# How often a thread that is done looks for the next task before it sleeps, with rests: 0.05 to 0.1 ms. A
# filter that follows another one at once takes 6 (8-bit RGB, 1920 x 1080) to 14 % (grey) less time.
LOOKS_FOR_TASK = 2_000

# The locks of Python's own threads: on every system, and asked for without the GIL.
_acquire = types.ExternalFunction("PyThread_acquire_lock", types.int32(types.int64, types.int32))
_release = types.ExternalFunction("PyThread_release_lock", types.void(types.int64))
_memcpy = types.ExternalFunction("memcpy", types.int64(types.int64, types.int64, types.int64))


# An address and the element after it are one operation: each operation takes 2 ms to compile.
def serve(queue):
    """Do the tasks of one work queue for as long as the process lives."""
    entry_point()
    while True:
        looks = LOOKS_FOR_TASK
        while looks > 0 and load_acquire(queue, at.STATE) & at.STAGE != at.QUEUED:
            pause()
            looks -= 1
        _acquire(load_acquire(queue, at.WAKE_LOCK), 1)
        state = load_acquire(queue, at.STATE)
        # A task that has been taken back, or a later one, which wakes this thread itself.
        begun = state - at.QUEUED + at.BEGUN
        if state & at.STAGE != at.QUEUED or not replace_if(queue, at.STATE, state, begun):
            continue
        call_at(load_acquire(queue, at.ENTRY), load_acquire(queue, at.ENTRY_ARGUMENTS))
        done = load_acquire(queue, at.DONE_LOCK)
        if exchange(queue, at.STATE, 0) & at.STAGE == at.AWAITED:
            _release(done)


def wake(task):
    """Queue a task for as many free threads as are wanted, except that of the caller's own core."""
    entry_point()
    queue, past = load_acquire(task, at.QUEUES), load_acquire(task, at.QUEUES_END)
    number = task << at.STAGE_BITS
    here, done = load_acquire(task, at.CALLER_CORE), load_acquire(task, at.CALLER_LOCK)
    wanted = load_acquire(task, at.WANTED)
    while wanted > 0 and queue < past:
        if load_acquire(queue, at.CORE) != here and replace_if(queue, at.STATE, 0, number + at.WRITTEN):
            exchange(queue, at.ENTRY, load_acquire(task, at.FUNCTION))
            exchange(queue, at.ENTRY_ARGUMENTS, load_acquire(task, at.ARGUMENTS))
            exchange(queue, at.DONE_LOCK, done)
            exchange(queue, at.STATE, number + at.QUEUED)
            _release(load_acquire(queue, at.WAKE_LOCK))
            wanted -= 1
        queue += at.QUEUE_BYTES


def wait(task):
    """Take a task back where it has not begun, and wait until it is done elsewhere."""
    entry_point()
    queue, past = load_acquire(task, at.QUEUES), load_acquire(task, at.QUEUES_END)
    number = task << at.STAGE_BITS
    looks = LOOKS
    while queue < past:
        if not replace_if(queue, at.STATE, number + at.QUEUED, 0):
            while looks > 0 and load_acquire(queue, at.STATE) == number + at.BEGUN:
                looks -= 1
            if replace_if(queue, at.STATE, number + at.BEGUN, number + at.AWAITED):
                _acquire(load_acquire(task, at.CALLER_LOCK), 1)
        queue += at.QUEUE_BYTES


def copy_pieces(source, target, size, piece, task):
    """Copy one piece after another, until none is left, on as many threads as take part."""
    entry_point()
    worker = share(task)
    while True:
        first = add(task[at.SELF], at.TAKEN, 1) * piece
        if first >= size:
            break
        _memcpy(target + first, source + first, min(piece, size - first))
    finish(task, worker)
