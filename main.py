"""Haloscope: `python main.py` opens the window, `python main.py COMMAND` answers on the command line.

This file only chooses. It is imported again by the engine's process, so nothing is imported or done at its top.
"""

import sys


def main(arguments: list[str]) -> int:
    """Do what the command line says and return the exit status."""
    from gui.shell.crash_log import open_crash_log

    open_crash_log()
    from engine.commands import COMMANDS

    # Answered by the engine alone, without Qt. To open a picture of such a name, write ./filter.
    if arguments and arguments[0] in COMMANDS:
        from engine.commands import main as answer
    else:
        from gui.shell.launch import main as answer
    return answer(arguments)


if __name__ == "__main__":
    import multiprocessing

    multiprocessing.freeze_support()
    sys.exit(main(sys.argv[1:]))
