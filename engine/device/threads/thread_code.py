"""The compiled part of `engine.device.threads.thread_pool`: serving a mailbox, posting orders, waiting."""

from numba import types

from engine.compiled.entry_point import entry_point
from engine.device.threads.board import (
    ARGUMENTS,
    AWAITED,
    BEGUN,
    CORE,
    DONE,
    FUNCTION,
    HERE,
    LEFT,
    MAILBOX_BYTES,
    MAILBOXES,
    ORDER,
    ORDER_ARGUMENTS,
    PAST_MAILBOXES,
    POSTED,
    STAGE,
    STAGE_BITS,
    STATE,
    WAKE,
    WANTED,
    WRITTEN,
)  # fmt: skip
from engine.device.threads.shared_call import call_at, exchange, load_acquire, pause, replace_if

# How often the caller looks whether the others are done before it sleeps: 0.1 to 0.2 ms. Being woken takes 25
# to 60 us, of the 700 us that a small mask takes on 2048 x 2048.
LOOKS = 200_000
# How often a thread that is done looks for the next order before it sleeps, with rests: 0.05 to 0.1 ms. A
# filter that follows another one at once takes 6 (8-bit RGB, 1920 x 1080) to 14 % (grey) less time.
LOOKS_FOR_ORDER = 2_000

# The locks of Python's own threads: on every system, and asked for without the GIL.
_acquire = types.ExternalFunction("PyThread_acquire_lock", types.int32(types.int64, types.int32))
_release = types.ExternalFunction("PyThread_release_lock", types.void(types.int64))


# An address and the element after it are one operation: each operation takes 2 ms to compile.
def serve(mailbox):
    """Do the orders of one mailbox for as long as the process lives."""
    entry_point()
    while True:
        looks = LOOKS_FOR_ORDER
        while looks > 0 and load_acquire(mailbox, STATE) & STAGE != POSTED:
            pause()
            looks -= 1
        _acquire(load_acquire(mailbox, WAKE), 1)
        state = load_acquire(mailbox, STATE)
        # An order that has been taken back, or a later one, which wakes this thread itself.
        if state & STAGE != POSTED or not replace_if(mailbox, STATE, state, state - POSTED + BEGUN):
            continue
        call_at(load_acquire(mailbox, ORDER), load_acquire(mailbox, ORDER_ARGUMENTS))
        done = load_acquire(mailbox, DONE)
        if exchange(mailbox, STATE, 0) & STAGE == AWAITED:
            _release(done)


def post(board):
    """Post an order to as many free threads as are wanted, except that of the caller's own core."""
    entry_point()
    mailbox, past, order = (
        load_acquire(board, MAILBOXES),
        load_acquire(board, PAST_MAILBOXES),
        board << STAGE_BITS,
    )
    here, done, wanted = load_acquire(board, HERE), load_acquire(board, LEFT), load_acquire(board, WANTED)
    while wanted > 0 and mailbox < past:
        if load_acquire(mailbox, CORE) != here and replace_if(mailbox, STATE, 0, order + WRITTEN):
            exchange(mailbox, ORDER, load_acquire(board, FUNCTION))
            exchange(mailbox, ORDER_ARGUMENTS, load_acquire(board, ARGUMENTS))
            exchange(mailbox, DONE, done)
            exchange(mailbox, STATE, order + POSTED)
            _release(load_acquire(mailbox, WAKE))
            wanted -= 1
        mailbox += MAILBOX_BYTES


def wait(board):
    """Take back the orders of a launch that have not begun, and wait until the others are done."""
    entry_point()
    mailbox, past, order = (
        load_acquire(board, MAILBOXES),
        load_acquire(board, PAST_MAILBOXES),
        board << STAGE_BITS,
    )
    looks = LOOKS
    while mailbox < past:
        if not replace_if(mailbox, STATE, order + POSTED, 0):
            while looks > 0 and load_acquire(mailbox, STATE) == order + BEGUN:
                looks -= 1
            if replace_if(mailbox, STATE, order + BEGUN, order + AWAITED):
                _acquire(load_acquire(board, LEFT), 1)
        mailbox += MAILBOX_BYTES
