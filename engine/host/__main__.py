"""The entry point of a host's process, `python -m engine.host`; started by `engine.host.link` only."""

import os
import sys
from contextlib import suppress
from multiprocessing import connection as pipes
from multiprocessing import resource_tracker


def main() -> None:
    """Take the pipe's end, the function that serves, and its options from the parent; serve."""
    pipe, tracker = (int(number) for number in sys.argv[1:])
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
        serve, options = connection.recv()
        serve(connection, options)


if __name__ == "__main__":
    main()
