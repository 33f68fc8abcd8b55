"""A host's process, `python -m engine.host`, started by `engine.host.link` only."""

import os
import signal
import sys
from contextlib import suppress
from multiprocessing import connection as pipes
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection

from engine.host.request import HostOptions, answer
from engine.process import leave_out_float_warnings


def serve(connection: Connection, options: HostOptions) -> None:
    """Serve requests until the pipe closes or `Stop` comes. Called on: the main thread of the child."""
    if not options.use_cuda:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    leave_out_float_warnings()
    # On one core, with the threads that NumPy's BLAS starts: the window's own start needs the other. Its
    # first paint comes 20 to 40 ms sooner on 2 cores.
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if allowed:
        os.sched_setaffinity(0, {max(allowed)})
    try:
        from engine.host import server

        variants = answer(options.described, lambda step: None) if options.described else ()
    finally:
        for thread in os.listdir("/proc/self/task") if allowed else ():
            # One that has ended meanwhile.
            with suppress(OSError):
                os.sched_setaffinity(int(thread), allowed)
    server.work(connection, variants, options.segment_prefix)


def main() -> None:
    """Take the pipe's end, the options and what serves in place of `serve` from the parent; serve."""
    pipe, tracker = (int(number) for number in sys.argv[1:])
    # Both reach the whole group of a terminal; the window handles them.
    for ending in ("SIGINT", "SIGHUP"):
        if hasattr(signal, ending):
            signal.signal(getattr(signal, ending), signal.SIG_IGN)
    # Keep what libraries print out of the output of a command.
    with suppress(OSError):
        os.dup2(2, 1)
    if sys.platform == "win32":
        connection = pipes.PipeConnection(pipe)
    else:
        os.set_inheritable(pipe, False)
        os.set_inheritable(tracker, False)
        # As in `multiprocessing.spawn`: one tracker for both processes removes shared memory at the end.
        resource_tracker._resource_tracker._fd = tracker  # type: ignore[attr-defined]
        connection = pipes.Connection(pipe)
    # The parent may have ended already.
    with suppress(EOFError, ConnectionError):
        instead, options = connection.recv()
        (instead or serve)(connection, options)


if __name__ == "__main__":
    main()
