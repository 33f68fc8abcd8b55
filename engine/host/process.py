"""The host process: its options, and `serve`, which imports the engine once these are set."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from engine.float_warnings import leave_out_float_warnings
from engine.host.request import Request, answer
from engine.message import Message


class HostOptions(Message, frozen=True):
    """Choices that hold for the whole life of a host process."""

    use_cuda: bool = True  # False after repeated faults: the CPU for the rest of the session
    segment_prefix: str = ""  # of its segments' names, so that its client finds them; empty: any
    described: Request | None = None  # the request for the variants that it names when it says that it is up


Serve = Callable[[Connection, HostOptions], None]
"""What a child process does, named by its module: serve requests until the pipe closes or `Stop` comes."""


def serve(connection: Connection, options: HostOptions) -> None:
    """Serve requests until the pipe closes or `Stop` comes. Called on: the main thread of the child."""
    # Both reach the whole group of a terminal; the window handles them.
    for ending in ("SIGINT", "SIGHUP"):
        if hasattr(signal, ending):
            signal.signal(getattr(signal, ending), signal.SIG_IGN)
    if not options.use_cuda:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    leave_out_float_warnings()
    with _on_one_core():
        from engine.host import server

        variants = answer(options.described, lambda step: None) if options.described else ()
    server.work(connection, variants, options.segment_prefix)


@contextmanager
def _on_one_core() -> Iterator[None]:
    """Keep to one core, with the threads that NumPy's BLAS starts: the window's own start needs the other.

    Its first paint comes 20 to 40 ms sooner on 2 cores.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        for thread in os.listdir("/proc/self/task"):
            # One that has ended meanwhile.
            with suppress(OSError):
                os.sched_setaffinity(int(thread), allowed)
