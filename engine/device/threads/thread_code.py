"""The compiled part of `engine.device.threads.thread_pool`: serving a work queue, waking threads, waiting."""

from numba import types

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import (
    ARGUMENTS,
    AWAITED,
    BEGUN,
    CALLER_CORE,
    CALLER_LOCK,
    CORE,
    DONE_LOCK,
    ENTRY,
    ENTRY_ARGUMENTS,
    FUNCTION,
    QUEUE_BYTES,
    QUEUED,
    QUEUES,
    QUEUES_END,
    STAGE,
    STAGE_BITS,
    STATE,
    WAKE_LOCK,
    WANTED,
    WRITTEN,
)  # fmt: skip
from engine.device.threads.shared_call import call_at, exchange, load_acquire, pause, replace_if

# How often the caller looks whether the others are done before it sleeps: 0.1 to 0.2 ms. Being woken takes 25
# to 60 us, of the 700 us that a small mask takes on 2048 x 2048.
LOOKS = 200_000
# How often a thread that is done looks for the next task before it sleeps, with rests: 0.05 to 0.1 ms. A
# filter that follows another one at once takes 6 (8-bit RGB, 1920 x 1080) to 14 % (grey) less time.
LOOKS_FOR_TASK = 2_000

# The locks of Python's own threads: on every system, and asked for without the GIL.
_acquire = types.ExternalFunction("PyThread_acquire_lock", types.int32(types.int64, types.int32))
_release = types.ExternalFunction("PyThread_release_lock", types.void(types.int64))


# An address and the element after it are one operation: each operation takes 2 ms to compile.
def serve(queue):
    """Do the tasks of one work queue for as long as the process lives."""
    entry_point()
    while True:
        looks = LOOKS_FOR_TASK
        while looks > 0 and load_acquire(queue, STATE) & STAGE != QUEUED:
            pause()
            looks -= 1
        _acquire(load_acquire(queue, WAKE_LOCK), 1)
        state = load_acquire(queue, STATE)
        # A task that has been taken back, or a later one, which wakes this thread itself.
        if state & STAGE != QUEUED or not replace_if(queue, STATE, state, state - QUEUED + BEGUN):
            continue
        call_at(load_acquire(queue, ENTRY), load_acquire(queue, ENTRY_ARGUMENTS))
        done = load_acquire(queue, DONE_LOCK)
        if exchange(queue, STATE, 0) & STAGE == AWAITED:
            _release(done)


def wake(task):
    """Queue a task for as many free threads as are wanted, except that of the caller's own core."""
    entry_point()
    queue, past, number = load_acquire(task, QUEUES), load_acquire(task, QUEUES_END), task << STAGE_BITS
    here, done, wanted = (
        load_acquire(task, CALLER_CORE),
        load_acquire(task, CALLER_LOCK),
        load_acquire(task, WANTED),
    )
    while wanted > 0 and queue < past:
        if load_acquire(queue, CORE) != here and replace_if(queue, STATE, 0, number + WRITTEN):
            exchange(queue, ENTRY, load_acquire(task, FUNCTION))
            exchange(queue, ENTRY_ARGUMENTS, load_acquire(task, ARGUMENTS))
            exchange(queue, DONE_LOCK, done)
            exchange(queue, STATE, number + QUEUED)
            _release(load_acquire(queue, WAKE_LOCK))
            wanted -= 1
        queue += QUEUE_BYTES


def wait(task):
    """Take a task back where it has not begun, and wait until it is done elsewhere."""
    entry_point()
    queue, past, number = load_acquire(task, QUEUES), load_acquire(task, QUEUES_END), task << STAGE_BITS
    looks = LOOKS
    while queue < past:
        if not replace_if(queue, STATE, number + QUEUED, 0):
            while looks > 0 and load_acquire(queue, STATE) == number + BEGUN:
                looks -= 1
            if replace_if(queue, STATE, number + BEGUN, number + AWAITED):
                _acquire(load_acquire(task, CALLER_LOCK), 1)
        queue += QUEUE_BYTES
