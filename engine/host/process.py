"""The host process: its options, and `serve`, which imports the engine once these are set."""

import os
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection


@dataclass(frozen=True, slots=True)
class HostOptions:
    """Choices that hold for the whole life of a host process."""

    simulator: bool = False  # Numba decides once per process whether it simulates
    use_cuda: bool = True  # False after repeated faults: the CPU for the rest of the session
    segment_prefix: str = ""  # of its segments' names, so that its client finds them; empty: any


def serve(connection: Connection, options: HostOptions) -> None:
    """Serve requests until the pipe closes or `Stop` comes. Called on: the main thread of the child."""
    # Both reach the whole group of a terminal; the window handles them.
    for ending in ("SIGINT", "SIGHUP"):
        if hasattr(signal, ending):
            signal.signal(getattr(signal, ending), signal.SIG_IGN)
    if options.simulator:
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    if not options.use_cuda:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    from engine.host import handlers, run_jobs, shared
    from engine.host.server import Worker

    if options.segment_prefix:
        shared.use_prefix(options.segment_prefix)
    Worker(connection, handlers.HANDLERS).run(run_jobs.ready())
