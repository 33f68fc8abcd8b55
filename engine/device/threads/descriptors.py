"""Where compiled code and Python find what a launch on several threads needs: its task, and work queues.

A launch has a task descriptor, a flat int64 array:

    TAKEN                   bands that are taken; counted by all workers
    STARTED                 workers that have begun
    WAKE, FINISH            entry points that wake other threads and that wait; WAKE is 0 for a single worker
    SELF                    the address of the descriptor: what these two are called with
    FUNCTION, ARGUMENTS     what workers call: an entry point and its slots (`machine_code.Call`)
    QUEUES ... CALLER_LOCK  what WAKE and FINISH need (engine.device.threads.thread_pool)

Each thread has a work queue of one task, QUEUE_ELEMENTS int64. Its STATE is 0 where it is empty, else the
number of a launch plus one of the stages below. Stages change atomically, so a task is begun or taken back,
never both.
"""

# In cache lines of their own: all workers write the first two.
TAKEN, STARTED, WAKE = 0, 8, 16
FINISH, SELF, FUNCTION, ARGUMENTS = range(WAKE + 1, WAKE + 5)
QUEUES, QUEUES_END, WANTED, CALLER_CORE, CALLER_LOCK = range(WAKE + 5, WAKE + 10)
TASK_ELEMENTS = 32

# Elements of a work queue: its state, the task's call, the lock that the thread sleeps on, the one that the
# caller may sleep on until the task is done, and the core that the thread is pinned to (-1: none). One cache
# line.
STATE, ENTRY, ENTRY_ARGUMENTS, WAKE_LOCK, DONE_LOCK, CORE = range(6)
QUEUE_ELEMENTS = 8
QUEUE_BYTES = 64
# Stages of a task: being written, may be begun or taken back, begun, begun and the caller sleeps until it is
# done.
WRITTEN, QUEUED, BEGUN, AWAITED = range(4)
STAGE, STAGE_BITS = 3, 2
