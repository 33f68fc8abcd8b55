"""What a host's process begins with: `python -m engine.host`, started by `engine.host.link` alone."""

import os
import sys
from contextlib import suppress
from multiprocessing import connection as pipes
from multiprocessing import resource_tracker


def main() -> None:
    """Take the pipe's end, the function that serves, and its options from the parent; serve."""
    pipe, tracker = (int(number) for number in sys.argv[1:])
    # What a library prints must not be in the output of a command.
    with suppress(OSError):
        os.dup2(2, 1)
    if sys.platform == "win32":
        connection = pipes.PipeConnection(pipe)
    else:
        os.set_inheritable(pipe, False)
        os.set_inheritable(tracker, False)
        # As `multiprocessing.spawn` does it: one tracker for both, which removes shared memory when the last
        # one ends.
        resource_tracker._resource_tracker._fd = tracker  # type: ignore[attr-defined]
        connection = pipes.Connection(pipe)
    # Whoever started it may have gone without a word.
    with suppress(EOFError, ConnectionError):
        serve, options = connection.recv()
        serve(connection, options)


if __name__ == "__main__":
    main()
