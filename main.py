"""Haloscope: `python main.py` opens the window, `python main.py COMMAND` answers on the command line.

This file only chooses.
"""

import sys

from engine.interrupts import stop_at_ctrl_c

# The second: the command that an installation makes calls `run`.
if __name__ in ("__main__", "haloscope.__main__"):
    stop_at_ctrl_c()


def main(arguments: list[str]) -> int:
    """Open the window or run a command; return the exit status."""
    from engine.commands import COMMANDS
    from engine.host.blas_threads import start_without
    from gui.shell.crash_log import open_crash_log

    # To open a picture of such a name, write ./filter.
    command = COMMANDS.get(arguments[0]) if arguments else None
    # Of the window's two processes the engine's multiplies matrices.
    if command is None or not command.multiplies:
        start_without()
    open_crash_log()
    if command is not None:
        # The engine alone answers, without Qt.
        from engine.commands.command_line import main as answer

        return answer(arguments)
    from gui.shell.launch import main as show

    return show(arguments)


def run() -> int:
    """Answer to the arguments of the command line; return the exit status."""
    from engine.commands.own_process import answered

    return answered(main, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
