"""The host process: takes requests from the pipe, does one at a time, answers.

`serve` is what the child begins with; the heavy imports come after the process knows whether it is the simulator's.
"""

import os
import signal
from multiprocessing.connection import Connection

from engine.host.options import HostOptions


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
    from engine.host import shared
    from engine.host.server import Worker

    if options.blocks:
        shared.use_prefix(options.blocks)
    Worker(connection).run()
