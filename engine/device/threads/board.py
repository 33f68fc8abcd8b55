"""Where compiled code and Python find what a launch on several threads needs: the board and the mailboxes.

What belongs to one launch is its board, a flat int64 array:

    TAKEN                bands that are taken; counted by all workers
    STARTED              workers that have begun
    POST, FINISH         entry points that post the order and that wait; POST is 0 for a single worker
    SELF                 the address of the board: the slot that these two get
    FUNCTION, ARGUMENTS  the order: an entry point and the address of its slots (`machine_code.Call`)
    MAILBOXES ... LEFT   what these two need (engine.device.threads.thread_pool)

A mailbox is MAILBOX_ELEMENTS int64. Its STATE is 0 where it is empty, else a number of the launch plus one of
the stages below; stages change atomically, so that an order is begun or taken back, never both.
"""

# In cache lines of their own: all workers write the first two.
TAKEN, STARTED, POST = 0, 8, 16
FINISH, SELF, FUNCTION, ARGUMENTS, MAILBOXES, PAST_MAILBOXES, WANTED, HERE, LEFT = range(POST + 1, POST + 10)
BOARD_ELEMENTS = 32

# Elements of a mailbox: its state, the order, the lock that the thread sleeps on, the one that the caller may
# sleep on until the order is done, and the core that the thread is pinned to (-1: none). One cache line.
STATE, ORDER, ORDER_ARGUMENTS, WAKE, DONE, CORE = range(6)
MAILBOX_ELEMENTS = 8
MAILBOX_BYTES = 64
# Stages of an order: being written, may be begun or taken back, begun, begun and the caller sleeps until it
# is done.
WRITTEN, POSTED, BEGUN, AWAITED = range(4)
STAGE, STAGE_BITS = 3, 2
