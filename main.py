"""Haloscope: `python main.py` opens the window, `python main.py COMMAND` answers on the command line.

This file only chooses.
"""

import gc
import os
import signal
import sys


def main(arguments: list[str]) -> int:
    """Open the window or run a command; return the exit status."""
    from engine.files.standard_streams import flushed, open_closed_streams

    open_closed_streams()
    try:
        return flushed(_answer(arguments))
    except SystemExit as leaving:  # after --help, or a line on bad use
        return flushed(leaving.code if isinstance(leaving.code, int) else 0)


def _answer(arguments: list[str]) -> int:
    from engine.commands import COMMANDS
    from gui.shell.crash_log import open_crash_log

    # Answered by the engine alone, without Qt. To open a picture of such a name, write ./filter.
    if arguments and arguments[0] in COMMANDS:
        open_crash_log()
        return _command(arguments)
    from engine.host.blas_threads import start_without
    from gui.shell.interrupt import Interrupts

    # The engine's process multiplies matrices, the window's does not.
    start_without()
    interrupts = Interrupts()
    open_crash_log()
    from gui.shell.launch import main as show

    return show(arguments, interrupts)


def _command(arguments: list[str]) -> int:
    """Run a command, where Ctrl+C raises Python's exception: the command reports what was done by then."""
    from engine.commands import COMMANDS
    from engine.commands import main as command
    from engine.host.blas_threads import start_without

    if not COMMANDS[arguments[0]].multiplies:
        start_without()
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command(arguments)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, before)
        # At its exit Python looks for cycles among all objects, several times: 22 of the 260 ms of `filter`.
        gc.freeze()


if __name__ == "__main__":
    # Until the window or a command handles Ctrl+C: within an import its exception is a traceback or an abort.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    sys.exit(main(sys.argv[1:]))
