"""Haloscope: `python main.py` opens the window, `python main.py COMMAND` answers on the command line.

This file only chooses.
"""

import sys

from engine.interrupts import stop_at_ctrl_c


def main(arguments: list[str]) -> int:
    """Open the window or run a command; return the exit status."""
    from engine.commands import COMMANDS

    # To open a picture of such a name, write ./filter.
    if arguments and arguments[0] in COMMANDS:
        from engine.commands.command_line import main as answer
    else:
        from gui.shell.launch import main as answer
    return answer(arguments)


def run() -> int:
    """Answer to the arguments of the command line; return the exit status."""
    stop_at_ctrl_c()
    from engine.commands.own_process import answered

    return answered(main, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
