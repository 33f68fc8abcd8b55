"""A command as a process of its own, `python -m engine.commands.child_process COMMAND ...`.

It ends when what started it has ended: its standard input closes then.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from engine.commands import command_line
from engine.files.standard_streams import flushed
from engine.host.blas_threads import as_chosen
from engine.interrupts import listen

_LEAVING_S = 2.0


def command_process(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the words and the environment of a process that runs a command."""
    root = Path(__file__).resolve().parents[2]
    places = os.pathsep.join(dict.fromkeys([str(root), *filter(None, sys.path)]))
    command = [sys.executable, "-P", "-m", f"{__package__}.child_process", *arguments]
    return command, as_chosen(os.environ) | {"PYTHONPATH": places}


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    # In order, with its own processes and after a file that is being written; else at once.
    threading.Timer(_LEAVING_S, os._exit, (128 + signal.SIGTERM,)).start()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """Run the command that the arguments name; return the exit status."""
    listen()
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    return flushed(command_line.main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
