"""Haloscope: `python main.py` opens the window, `python main.py COMMAND` answers on the command line.

This file only chooses.
"""

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def main(arguments: list[str]) -> int:
    """Do what the command line says and return the exit status."""
    from engine.files.standard_streams import flushed, open_closed_streams

    open_closed_streams()
    try:
        return flushed(_answer(arguments))
    except SystemExit as leaving:  # after --help, or a line on bad use
        return flushed(leaving.code if isinstance(leaving.code, int) else 0)


def _answer(arguments: list[str]) -> int:
    from engine.commands import COMMANDS

    # Answered by the engine alone, without Qt. To open a picture of such a name, write ./filter.
    if arguments and arguments[0] in COMMANDS:
        from engine.commands import main as answer

        _open_crash_log()
        return _interruptible(answer, arguments)
    from gui.shell.interrupt import Interrupts

    interrupts = Interrupts()
    _open_crash_log()
    from gui.shell.launch import main as show

    return show(arguments, interrupts)


def _open_crash_log() -> None:
    from gui.shell.crash_log import open_crash_log

    open_crash_log()


def _interruptible(answer: "Callable[[list[str]], int]", arguments: list[str]) -> int:
    """Answer a command, which is told of Ctrl+C by Python's exception: it says what was done by then."""
    quiet = signal.getsignal(signal.SIGINT)
    try:
        if quiet is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return answer(arguments)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, quiet)


if __name__ == "__main__":
    # Until the window or a command says what Ctrl+C does: an exception within an import is a traceback, or an
    # abort.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    sys.exit(main(sys.argv[1:]))
