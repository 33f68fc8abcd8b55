"""The host process: takes requests from the pipe, does one at a time, answers.

`serve` is what the child begins with; the heavy imports come after the process knows whether it simulates.
"""

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
    # Ctrl+C in a terminal, and its end, reach the whole group; the window decides what they mean.
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
